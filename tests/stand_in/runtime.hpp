// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "stand_in/control.hpp"
#include "stand_in/machine/machine.hpp"

namespace tandem::stand_in {

/// An allocation. Calls make and free it; its state is what tasks have come to.
struct Block : Memory::Block {
  enum class State : std::uint8_t { queued, ready, freed };

  std::size_t capacity;
  CUmemPoolHandle_st* pool;
  State state = State::queued;
  const CUstream_st* freed_on = nullptr;

  /// What tasks do.
  void begin(Memory& memory);
  void end(Memory& memory);
};

}  // namespace tandem::stand_in

struct CUmemPoolHandle_st {
  int gpu;
  std::uint64_t reserved = 0, used = 0;
  std::vector<std::shared_ptr<tandem::stand_in::Block>> free = {};  // by calls, maybe not by tasks
};

namespace tandem::stand_in {

/// Where a range of bytes lies.
struct Place {
  std::byte* data;
  std::size_t nbytes;
  std::shared_ptr<Block> block = nullptr;  // on a GPU; null on the host
  bool pinned = false;

  bool on(int gpu) const { return block != nullptr && block->pool->gpu == gpu; }
};

inline constexpr const char* kKernel = "kernel";  // by which its failures count it

/// Ends a call that is refused.
inline void need(bool holds, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!holds) throw otherwise;
}

/// Where a GPU is on the PCI bus: "0000:01:00.0".
std::string bus_id(int gpu);

/// What CUDA's run-time keeps above the machine, and the tests' rules. Lives until the process has
/// ended, so that any destructor may call.
///
/// Whoever calls a member holds the machine's mutex. What is said to be checked throws a
/// cudaError_t.
class Runtime {
 public:
  static Runtime& get();
  void reset();
  /// Counts a call, and checks whether it is to do its work.
  void enter(const std::string& name, int caller_gpu);
  /// Ends the use of a GPU.
  void fault(int gpu, const char* why);
  void check_gpu(int gpu) {
    const auto error = static_cast<cudaError_t>(machine.error(gpu));
    need(error == cudaSuccess, error);
  }
  void check_handle(const void* h) const {
    need(handles.contains(h), cudaErrorInvalidResourceHandle);
  }

  /// Runs tasks until `done()`; checks that it comes to that without another call.
  void finish(const std::function<bool()>& done);
  /// Runs some tasks, unless it is done already, as time passes between two questions; checks it.
  void query(const std::function<bool()>& done);

  template <class T>
  T* make(std::deque<T>& all, T object) {
    handles.insert(&all.emplace_back(std::move(object)));
    return &all.back();
  }
  /// Checks that the GPU has as much left.
  std::shared_ptr<Block> allocate(CUmemPoolHandle_st* pool, std::size_t n, CUstream_st* stream);
  /// Checks that a block begins there. The pool has it again, for `stream` at once.
  std::shared_ptr<Block> free(void* p, CUstream_st* stream);
  /// Gives free blocks back while the pool has more than `keep` bytes.
  void trim(CUmemPoolHandle_st* pool, std::size_t keep);
  /// Checks that no part of it is pinned.
  void pin(void* p, std::size_t n);
  /// Checks that the range is in one block, or on the host, pinned as a whole or not at all.
  Place locate(const void* p, std::size_t n) const;
  /// Whether a task may use it now.
  bool usable(const Place& place) const;

  Machine& machine = Machine::get();
  bool unloaded;
  bool has_pools, shares_page_tables;
  int driver;
  std::set<std::pair<int, int>> refused_peers;  // whose pool, and to whom
  Failures kernel_failures{""};
  std::set<const void*> handles;  // that are not destroyed
  std::deque<CUevent_st> events;
  std::deque<CUmemPoolHandle_st> pools;
  std::map<std::byte*, std::shared_ptr<Block>> blocks;  // that calls have not freed

 private:
  Runtime();
};

}  // namespace tandem::stand_in
