// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/cuda_event.hpp"

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/queries.hpp"
#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::cuda {

void CudaEvent::record(const Stream& stream) {
  const GpuDevice& device = *stream.logical_device().gpu();
  device.activate();
  if (gpu_ != device.ordinal()) destroy();
  if (handle_ == nullptr) {
    TANDEM_CUDA(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming));
    gpu_ = device.ordinal();
  }
  TANDEM_CUDA(cudaEventRecord(handle_, stream.native()->cuda()));
}

bool CudaEvent::is_done() const {
  check_usable(gpu_);
  const GpuScope scope(gpu_);
  return is_reached(handle_, gpu_);
}

void CudaEvent::wait(const char* op) const {
  check_usable(gpu_);
  const GpuScope scope(gpu_);
  poll([&] { return is_reached(handle_, gpu_); }, op);
}

void CudaEvent::wait(const Stream& stream) const {
  stream.logical_device().gpu()->activate();
  TANDEM_CUDA(cudaStreamWaitEvent(stream.native()->cuda(), handle_, 0));
}

void CudaEvent::destroy() noexcept {
  if (handle_ == nullptr) return;
  const GpuScope scope(gpu_);
  forgive(cudaEventDestroy(handle_));  // after the driver's end there is nothing to destroy
  handle_ = nullptr;
}

}  // namespace tandem::cuda
