// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

namespace tandem::stand_in {

/// Memory of all GPUs: one file that is mapped twice.
///
/// A program gets addresses of the first mapping, which nobody may use; the host's kernels use the
/// second one. So the host cannot read a GPU's memory by mistake, and nothing is protected and
/// unprotected around a kernel. Addresses of freed blocks are used again as late as possible.
///
/// Kernels that have addresses in them need one mapping, which is open while tasks run. The address
/// sanitizer sees what the host uses outside of blocks.
class Memory {
 public:
  enum class Pinned : std::uint8_t { no, partly, yes };
  struct Block {
    std::byte* data;
    std::size_t size;
    int gpu;
  };

  /// Maps it once, before anything is reserved.
  ///
  /// @throws std::runtime_error  the process may not map as much.
  void map_once();
  /// Lets the host use the one mapping while `tasks()` runs.
  ///
  /// @return  what it returns.
  bool open_while(const std::function<bool()>& tasks);
  /// At first it maps the file: a process that a program forks before may have GPUs of its own.
  ///
  /// @return  null: no addresses are left.
  /// @throws std::runtime_error  the process may not map as much.
  const Block* allocate(int gpu, std::size_t nbytes);
  /// The block begins at `p`: find() has said so. Its bytes are there until they are given back.
  Block forget(const void* p);
  void give_back(const Block& block);
  /// Addresses without memory; null: none are left.
  std::byte* reserve(std::size_t nbytes);
  void give_back_addresses(std::byte* p, std::size_t nbytes);
  /// Memory at addresses that are reserved. It goes by forget() and clear().
  void put(const Block& block) { blocks_[block.data] = block; }
  /// Its bytes are there, and nobody has written them.
  void fill(const Block& block);
  /// Its bytes are not there any more.
  void clear(const Block& block);
  /// The block that the byte is in; null: it is in none.
  const Block* find(const void* p) const;
  /// Whether all bytes are in blocks.
  bool has(const void* p, std::size_t nbytes) const;
  bool holds(const void* p) const { return p >= begin_ && p < begin_ + size_ && begin_ != nullptr; }
  /// The same byte where the host may use it; what is no GPU's stays where it is.
  void* host(const void* p) const {
    return holds(p) ? const_cast<std::byte*>(static_cast<const std::byte*>(p)) + alias_
                    : const_cast<void*>(p);
  }

  void pin(void* p, std::size_t nbytes) { pinned_[static_cast<std::byte*>(p)] = nbytes; }
  /// @return  whether it was.
  bool unpin(void* p) { return pinned_.erase(static_cast<std::byte*>(p)) != 0; }
  /// The host's memory from `p` on.
  Pinned pinned(const void* p, std::size_t nbytes) const;
  bool is_pinned(const void* p) const { return pinned(p, 1) == Pinned::yes; }
  /// What is pinned, and not given back.
  std::size_t pins() const { return pinned_.size(); }

 private:
  void map();
  std::byte* recycled(std::size_t size);

  std::size_t size_ = std::size_t{4} << 40;
  std::byte *begin_ = nullptr, *fresh_ = nullptr;
  std::ptrdiff_t alias_ = 0;  // of the second mapping, if there is one
  std::map<const std::byte*, Block> blocks_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::deque<Block> freed_;  // the oldest first
};

}  // namespace tandem::stand_in
