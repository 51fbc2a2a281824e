// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/gpu/torch_gpu.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "tandem/core/check.hpp"

#include "libtorch/gpu/gpu_call.hpp"
#include "libtorch/gpu/torch_memory.hpp"
#include "libtorch/gpu/torch_reserved.hpp"

namespace tandem::libtorch {
namespace {

c10::Stream current_stream(int ordinal) {
  return call_gpu(ordinal, "cudaGetDevice", [&] {
    return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).getStream(gpu_of(ordinal));
  });
}

c10::Stream stream_of_pool(int ordinal, bool goes_first) {
  return call_gpu(ordinal, "cudaStreamCreateWithPriority", [&] {
    return c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA)
        .getStreamFromGlobalPool(gpu_of(ordinal), goes_first);
  });
}

}  // namespace

// The kernels of collectives are small, and all GPUs of a group wait for the last one: they do not
// queue behind the blocks of a product.
TorchGpu::TorchGpu(Device name, int ordinal)
    : GpuDevice(name, ordinal),
      main_(ordinal, current_stream(ordinal)),
      side_(ordinal, stream_of_pool(ordinal, /*goes_first=*/true)),
      upload_(ordinal, stream_of_pool(ordinal, /*goes_first=*/false)) {}

void TorchGpu::activate() const {
  call_gpu(ordinal(), "cudaSetDevice", [&] {
    c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).setDevice(gpu_of(ordinal()));
  });
}

void TorchGpu::begin_call(const c10::Stream& caller) const {
  const std::scoped_lock lock(calls_mutex_);
  const c10::Stream now = main_.stream();
  TANDEM_CHECK(calls_ == 0 || now == caller,
               "DataParallel: this call's current stream on ",
               name(),
               " is ",
               caller,
               ", but another call is under way there on ",
               now,
               ", and a device works for one stream at a time; call after the other has ended, or "
               "under its stream");
  main_.follow(caller);
  ++calls_;
}

void TorchGpu::begin_call() const {
  std::call_once(has_own_, [&] { own_ = stream_of_pool(ordinal(), /*goes_first=*/false); });
  begin_call(*own_);
}

void TorchGpu::end_call() const noexcept {
  const std::scoped_lock lock(calls_mutex_);
  --calls_;
}

std::optional<GpuDevice::Reserved> TorchGpu::reserved() const {
  const TorchReserved found = reserved_of(ordinal());
  return Reserved{found.peak, found.most};
}

void TorchGpu::begin_peak() const {
  begin_reserved_peak(ordinal());
}

std::unique_ptr<SourceAllocator> TorchGpu::make_allocator() {
  return std::make_unique<TorchMemory>(*this);
}

}  // namespace tandem::libtorch
