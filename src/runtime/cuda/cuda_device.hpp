// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/cuda/device_stream.hpp"
#include "runtime/gpu/gpu_device.hpp"

struct CUmemPoolHandle_st;

namespace tandem::cuda {

/// A logical device of tandem's own backend: three streams and a memory pool of its own.
class CudaDevice final : public GpuDevice {
 public:
  CudaDevice(Device name, int ordinal);
  ~CudaDevice() override;

  void activate() const override;
  GpuStream* main_stream() const noexcept override { return main_.get(); }
  GpuStream* side_stream() const noexcept override { return side_.get(); }
  GpuStream* upload_stream() const noexcept override { return upload_.get(); }
  /// Allocates from the pool and from what was freed.
  std::unique_ptr<SourceAllocator> make_allocator() override;

 private:
  std::unique_ptr<DeviceStream> main_, side_, upload_;
  CUmemPoolHandle_st* pool_ = nullptr;
};

}  // namespace tandem::cuda
