// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ATen/record_function.h>

#include "tandem/runtime/logical_device.hpp"

namespace tandem::libtorch {

// PyTorch's kernels on its own GPUs do not pass through tandem. So whoever observes them is told by
// PyTorch's callback of each op: the op that the program or a node of the graph calls is a piece of
// its GPU's work, and a copy between GPUs is a transfer. Nothing is installed otherwise.

/// Until the end of the scope observers see PyTorch's ops on GPUs.
class GpuOps {
 public:
  enum class Threads : std::uint8_t {
    calling,  ///< this thread, and backwards that it begins
    all,      ///< of the process. PyTorch must run nothing where such a scope begins and ends.
  };
  /// Does nothing if nobody observes.
  explicit GpuOps(Threads threads);
  ~GpuOps();
  GpuOps(const GpuOps&) = delete;
  GpuOps& operator=(const GpuOps&) = delete;

 private:
  Threads threads_;
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
};

/// The logical device on a GPU of PyTorch's; of several, the first.
LogicalDevice& device_on_gpu(int ordinal);

}  // namespace tandem::libtorch
