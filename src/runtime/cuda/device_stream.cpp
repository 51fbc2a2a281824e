// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/device_stream.hpp"

#include <chrono>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/ends_within.hpp"
#include "runtime/cuda/queries.hpp"
#include "runtime/cuda/timed_point.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::cuda {
namespace {

constexpr auto kGrace = std::chrono::seconds(2);

CUstream_st* make_stream(int priority) {
  CUstream_st* stream = nullptr;
  TANDEM_CUDA(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  return stream;
}

/// The driver keeps no copy of pinned memory: the GPU reads it when the stream comes to it.
bool is_pinned(const void* p) {
  cudaPointerAttributes attributes{};
  TANDEM_CUDA(cudaPointerGetAttributes(&attributes, p));
  return attributes.type == cudaMemoryTypeHost;
}

}  // namespace

DeviceStream::DeviceStream(int gpu, int priority, bool reads_pageable)
    : GpuStream(make_stream(priority)), gpu_(gpu), reads_pageable_(reads_pageable) {}

// The status is not looked at: the driver may be gone already.
DeviceStream::~DeviceStream() {
  const GpuScope scope(gpu_);
  forgive(cudaStreamDestroy(cuda()));
}

void DeviceStream::synchronize(const char* op) const {
  use_gpu(gpu_);
  poll([&] { return is_idle(cuda(), gpu_); }, op);
}

void DeviceStream::drain() const noexcept {
  const GpuScope scope(gpu_);
  ends_within(kGrace, cuda());
}

void DeviceStream::copy_to_host(std::span<const ToHost> copies, const char* op) const {
  // A copy to memory that is not pinned waits in the driver for what is before it: here a deadline
  // ends that.
  synchronize(op);
  try {
    for (const ToHost& c : copies)
      TANDEM_CUDA(cudaMemcpyAsync(c.target, c.source, c.nbytes, cudaMemcpyDeviceToHost, cuda()));
    synchronize(op);
  } catch (...) {
    drain();
    throw;
  }
}

bool DeviceStream::begin_copy_from_host(const void* source,
                                        void* target,
                                        std::size_t nbytes,
                                        const char* op) const {
  use_gpu(gpu_);
  // Else the driver has taken the bytes when the call returns.
  const bool is_read_later = is_pinned(source) || reads_pageable_;
  if (!is_read_later && nbytes > kMostTaken) synchronize(op);  // as above
  TANDEM_CUDA(cudaMemcpyAsync(target, source, nbytes, cudaMemcpyHostToDevice, cuda()));
  return is_read_later;
}

std::shared_ptr<const StreamPoint> DeviceStream::point() const {
  return std::make_shared<const TimedPoint>(*this, gpu_);
}

}  // namespace tandem::cuda
