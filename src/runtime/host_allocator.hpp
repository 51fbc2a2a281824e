// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_set>

#include "tandem/runtime/allocator.hpp"

namespace tandem {

/// The source of a host device's memory in builds with CUDA.
///
/// While the process uses a GPU, inputs of 64 KiB or more are in pinned pages, so that GPUs read
/// them without a copy by the driver. Pinned blocks are kept apart from the others: each serves
/// inputs only.
class HostAllocator final : public SourceAllocator {
 public:
  explicit HostAllocator(const std::string& device);
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  std::uint64_t system_calls() const noexcept override {
    return pageable_.system_calls() + pinned_.system_calls();
  }
  void release_cached() noexcept override;

 private:
  CachingAllocator pageable_, pinned_;
  std::mutex mutex_;                        // guards in_use_
  std::unordered_set<const void*> in_use_;  // blocks of pinned_; a block's category may change
};

}  // namespace tandem
