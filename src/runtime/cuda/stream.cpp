// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Waits of the host, and events. The host asks again and again instead of sleeping in the driver,
// so that a deadline or an abort ends the wait.

#include "tandem/runtime/stream.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include <sys/prctl.h>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kShortest = std::chrono::microseconds(1);
constexpr auto kLongest = std::chrono::microseconds(50);

/// Lets the thread sleep for as short as it asks for, in a scope. Linux adds 50 us otherwise.
class ShortSleeps {
 public:
  ShortSleeps() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1000UL); }
  ~ShortSleeps() {
    if (before_ > 0) prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(before_));
  }
  ShortSleeps(const ShortSleeps&) = delete;
  ShortSleeps& operator=(const ShortSleeps&) = delete;

 private:
  int before_;  // ns
};

/// Returns when `query()` gives success. @param call  named where it fails.
///
/// Sleeps between two questions, an eighth of the time so far: whoever launches in the meantime
/// has the driver and the core to himself, and what is waited for is seen nearly at once.
template <class Query>
void wait_until_done(Query query, const char* call, int gpu, const char* op) {
  const auto start = Clock::now();
  std::optional<ShortSleeps> sleeps;
  for (;;) {
    const cudaError_t status = query();
    if (status != cudaErrorNotReady) return check(status, call, gpu);
    cudaGetLastError();  // "not ready" is not an error of a launch
    check_alive(op);
    if (!sleeps) sleeps.emplace();
    const Clock::duration eighth = (Clock::now() - start) / 8;
    std::this_thread::sleep_for(std::clamp<Clock::duration>(eighth, kShortest, kLongest));
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
