// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include "tandem/runtime/allocator.hpp"

#include "runtime/gpu/gpu_device.hpp"

namespace tandem::libtorch {

/// Memory of PyTorch's allocator, so that its figures and limits hold for tandem, too.
class TorchMemory final : public SourceAllocator {
 public:
  /// @param device  outlives the allocator.
  explicit TorchMemory(const GpuDevice& device) : device_(device) {}
  void* allocate(std::size_t nbytes, Category category) override;
  void deallocate(void* p, std::size_t nbytes, Category category) noexcept override;
  /// Always 0: PyTorch's allocator asks the driver, and counts that itself.
  std::uint64_t system_calls() const noexcept override { return 0; }
  /// Does nothing: what PyTorch's allocator keeps is for all of the program.
  void release_cached() noexcept override {}

 private:
  const GpuDevice& device_;
  std::mutex mutex_;  // guards blocks_
  std::unordered_map<const void*, c10::DataPtr> blocks_;
};

/// The calling thread's current stream uses the memory of a tensor of a GPU, which another stream
/// may have made: PyTorch does not give it out again before that use has ended.
void keep_for_current_stream(const at::Tensor& x);

}  // namespace tandem::libtorch
