// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>

#include <ATen/core/Tensor.h>

#include "libtorch/gpu/gpu_call.hpp"

namespace tandem::libtorch {

/// A small tensor on each GPU, where it stays from the GPU's first use on: who needs it later may
/// be where memory must not be refused.
///
/// Thread-safe. Lives until the process ends: its memory is PyTorch's, which may end earlier.
class GpuConstant {
 public:
  /// @param on_host  makes it, once for each GPU.
  explicit GpuConstant(at::Tensor (*on_host)()) : on_host_(on_host) {}

  at::Tensor on(int gpu) {
    const std::scoped_lock lock(mutex_);
    at::Tensor& own = made_[gpu];
    // From the host: PyTorch waits for such a copy, so that any stream may read it.
    if (!own.defined()) own = on_host_().to(gpu_of(gpu));
    return own;
  }

 private:
  at::Tensor (*on_host_)();
  std::mutex mutex_;  // guards made_
  std::map<int, at::Tensor> made_;
};

}  // namespace tandem::libtorch
