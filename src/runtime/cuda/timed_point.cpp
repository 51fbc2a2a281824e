// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/timed_point.hpp"

#include <map>
#include <mutex>

#include "runtime/cuda/check.hpp"
#include "runtime/cuda/queries.hpp"
#include "runtime/gpu/poll.hpp"

namespace tandem::cuda {
namespace {

/// Events with times that no point uses, by GPU. Thread-safe.
class FreeEvents {
 public:
  /// On the calling thread's GPU, which is `gpu`. @throws DeviceError
  CUevent_st* take(int gpu) {
    {
      const std::scoped_lock lock(mutex_);
      auto& free = by_gpu_[gpu];
      if (!free.empty()) {
        CUevent_st* const event = free.back();
        free.pop_back();
        return event;
      }
    }
    CUevent_st* event = nullptr;
    TANDEM_CUDA(cudaEventCreateWithFlags(&event, cudaEventDefault));
    return event;
  }
  void give(CUevent_st* event, int gpu) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      by_gpu_[gpu].push_back(event);
    } catch (const std::bad_alloc&) {
      forgive(cudaEventDestroy(event));
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, std::vector<CUevent_st*>> by_gpu_;
};

/// Lives until the process ends: points may outlive other static objects.
FreeEvents& free_events() {
  static FreeEvents& events = *new FreeEvents;
  return events;
}

}  // namespace

TimedPoint::TimedPoint(const GpuStream& stream, int gpu) : StreamPoint(gpu) {
  use_gpu(gpu);
  event_ = free_events().take(gpu);
  try {
    TANDEM_CUDA(cudaEventRecord(event_, stream.cuda()));
  } catch (...) {
    free_events().give(event_, gpu);
    throw;
  }
}

TimedPoint::~TimedPoint() {
  free_events().give(event_, ordinal());
}

void TimedPoint::wait(const char* op) const {
  check_usable(ordinal());
  const GpuScope scope(ordinal());
  poll([&] { return is_reached(event_, ordinal()); }, op);
}

float TimedPoint::since(const StreamPoint& earlier) const {
  const GpuScope scope(ordinal());
  float ms = 0;
  TANDEM_CUDA(cudaEventElapsedTime(&ms, dynamic_cast<const TimedPoint&>(earlier).event_, event_));
  return ms;
}

}  // namespace tandem::cuda
