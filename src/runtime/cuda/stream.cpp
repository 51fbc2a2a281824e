// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Waits of the host, and events. The host asks again and again instead of sleeping in the driver,
// so that a deadline or an abort ends the wait.

#include "tandem/runtime/stream.hpp"

#include <chrono>
#include <thread>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(200);
constexpr auto kPause = std::chrono::microseconds(50);

/// Returns when `query()` gives success. @param call  named where it fails.
template <class Query>
void wait_until_done(Query query, const char* call, int gpu, const char* op) {
  const auto spin_end = Clock::now() + kSpin;
  for (;;) {
    const cudaError_t status = query();
    if (status != cudaErrorNotReady) return check(status, call, gpu);
    cudaGetLastError();  // "not ready" is no error of a launch
    check_alive(op);
    if (Clock::now() < spin_end)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void synchronize(const GpuDevice& device, CUstream_st* stream, const char* op) {
  device.activate();
  wait_until_done([&] { return cudaStreamQuery(stream); }, "cudaStreamQuery", device.gpu(), op);
}

void record_event(CUevent_st*& event, int& gpu, const Stream& stream) {
  const GpuDevice& device = *stream.logical_device().cuda();
  device.activate();
  if (event != nullptr && gpu != device.gpu()) {
    destroy_event(event, gpu);
    event = nullptr;
  }
  if (event == nullptr) {
    TANDEM_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    gpu = device.gpu();
  }
  TANDEM_CUDA(cudaEventRecord(event, stream.native()));
}

bool event_done(CUevent_st* event, int gpu) {
  check_usable(gpu);
  const GpuScope scope(gpu);
  const cudaError_t status = cudaEventQuery(event);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, "cudaEventQuery", gpu);
  return true;
}

void wait_event(CUevent_st* event, int gpu, const char* op) {
  check_usable(gpu);
  const GpuScope scope(gpu);
  wait_until_done([&] { return cudaEventQuery(event); }, "cudaEventQuery", gpu, op);
}

void stream_wait_event(const Stream& stream, CUevent_st* event) {
  stream.logical_device().cuda()->activate();
  TANDEM_CUDA(cudaStreamWaitEvent(stream.native(), event, 0));
}

void destroy_event(CUevent_st* event, int gpu) noexcept {
  if (event == nullptr) return;
  const GpuScope scope(gpu);
  forgive(cudaEventDestroy(event));  // after the driver's end there is nothing to destroy
}

}  // namespace tandem::cuda
