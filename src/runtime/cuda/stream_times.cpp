// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/stream_times.hpp"

#include <map>
#include <mutex>

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"

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
      destroy_event(event, gpu);
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

StreamPoint::StreamPoint(const Stream& stream) : gpu_(stream.logical_device().cuda()->gpu()) {
  stream.logical_device().cuda()->activate();
  native_ = free_events().take(gpu_);
  try {
    TANDEM_CUDA(cudaEventRecord(native_, stream.native()));
  } catch (...) {
    free_events().give(native_, gpu_);
    throw;
  }
}

StreamPoint::~StreamPoint() {
  free_events().give(native_, gpu_);
}

std::shared_ptr<const StreamPoint> point_of(const Stream& stream) noexcept {
  try {
    return std::make_shared<const StreamPoint>(stream);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace tandem::cuda
