// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>

namespace tandem::stand_in {

/// Memory of all GPUs: one file that is mapped twice.
///
/// A program gets addresses of the first mapping, which nobody may use; the host's kernels use the
/// second one. So the host cannot read a GPU's memory by mistake, and nothing is protected and
/// unprotected around a kernel. Addresses of freed blocks are used again as late as possible.
class Memory {
 public:
  struct Block {
    std::byte* data;
    std::size_t size;
    int gpu;
  };

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
  void give_back_addresses(std::byte* p, std::size_t nbytes) { freed_.push_back({p, nbytes, 0}); }
  /// Memory at addresses that are reserved. It goes by forget() and clear().
  void put(const Block& block) { blocks_[block.data] = block; }
  void clear(const Block& block);
  /// The block that the byte is in; null: it is in none.
  const Block* find(const void* p) const;
  /// Whether all bytes are in blocks.
  bool has(const void* p, std::size_t nbytes) const;
  bool holds(const void* p) const { return p >= begin_ && p < begin_ + size_; }
  /// The same byte where the host may use it; what is no GPU's stays where it is.
  void* host(const void* p) const {
    return holds(p) ? const_cast<std::byte*>(static_cast<const std::byte*>(p)) + alias_
                    : const_cast<void*>(p);
  }

  void pin(void* p, std::size_t nbytes) { pinned_[static_cast<std::byte*>(p)] = nbytes; }
  /// @return  whether it was.
  bool unpin(void* p) { return pinned_.erase(static_cast<std::byte*>(p)) != 0; }
  bool is_pinned(const void* p) const;

 private:
  void map();
  std::byte* recycled(std::size_t size);

  std::size_t size_ = std::size_t{4} << 40;
  std::byte *begin_ = nullptr, *fresh_ = nullptr;
  std::ptrdiff_t alias_ = 0;
  std::map<const std::byte*, Block> blocks_;
  std::map<const std::byte*, std::size_t> pinned_;
  std::deque<Block> freed_;  // the oldest first
};

}  // namespace tandem::stand_in
