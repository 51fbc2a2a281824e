// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "libtorch/gpu/torch_stream.hpp"
#include "runtime/gpu/gpu_device.hpp"

namespace tandem::libtorch {

/// A logical device on a GPU of PyTorch's. Its main stream is the one that was the caller's current
/// one there when the last call began.
class TorchGpu final : public GpuDevice {
 public:
  TorchGpu(Device name, int ordinal);
  void activate() const override;
  GpuStream* main_stream() const noexcept override { return &main_; }
  GpuStream* side_stream() const noexcept override { return &side_; }
  GpuStream* upload_stream() const noexcept override { return &upload_; }
  std::unique_ptr<SourceAllocator> make_allocator() override;
  std::optional<Reserved> reserved() const override;
  void begin_peak() const override;
  /// The calling thread's current stream of the GPU becomes the main one.
  void follow_caller() const;

 private:
  mutable TorchStream main_, side_, upload_;
};

}  // namespace tandem::libtorch
