// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/stream_clock.hpp"

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

StreamClock::~StreamClock() {
  for (const Event& event : marks_)
    destroy_event(event.native, event.gpu);
  for (const auto& [gpu, events] : free_)
    for (CUevent_st* event : events)
      destroy_event(event, gpu);
  for (const auto& [gpu, origin] : origins_)
    destroy_event(origin.native, gpu);
}

StreamClock::Event StreamClock::take(int gpu) {
  auto& free = free_[gpu];
  Event event{nullptr, gpu};
  if (free.empty()) {
    TANDEM_CUDA(cudaEventCreateWithFlags(&event.native, cudaEventDefault));
  } else {
    event.native = free.back();
    free.pop_back();
  }
  return event;
}

// The event is reached at once, since the stream is idle: somewhere between the moments before and
// after, of which the closest of some tries are taken.
void StreamClock::calibrate(const Stream& stream) {
  constexpr int kTries = 5;
  using Clock = std::chrono::steady_clock;
  const GpuDevice& device = *stream.logical_device().cuda();
  device.activate();
  synchronize(device, stream.native(), "profile");
  auto closest = Clock::duration::max();
  for (int i = 0; i < kTries; ++i) {
    const Event event = take(device.gpu());
    free_[event.gpu].push_back(event.native);  // its place, should CUDA refuse
    const Clock::time_point before = Clock::now();
    TANDEM_CUDA(cudaEventRecord(event.native, stream.native()));
    wait_event(event.native, event.gpu, "profile");
    const Clock::duration between = Clock::now() - before;
    if (between >= closest) continue;
    closest = between;
    free_[event.gpu].pop_back();
    const auto [origin, is_new] = origins_.try_emplace(event.gpu, Origin{event.native, {}});
    if (!is_new) {
      free_[event.gpu].push_back(origin->second.native);
      origin->second.native = event.native;
    }
    origin->second.moment = before + between / 2;
  }
}

std::size_t StreamClock::mark(const Stream& stream) {
  const GpuDevice& device = *stream.logical_device().cuda();
  if (!origins_.contains(device.gpu())) calibrate(stream);
  device.activate();
  const Event event = take(device.gpu());
  marks_.push_back(event);
  TANDEM_CUDA(cudaEventRecord(event.native, stream.native()));
  return marks_.size() - 1;
}

StreamClock::Moment StreamClock::at(std::size_t mark) const {
  const Event& event = marks_.at(mark);
  wait_event(event.native, event.gpu, "profile");
  const GpuScope scope(event.gpu);
  float ms = 0;
  const Origin& origin = origins_.at(event.gpu);
  TANDEM_CUDA(cudaEventElapsedTime(&ms, origin.native, event.native));
  const std::chrono::duration<double, std::milli> since(ms);
  return origin.moment + std::chrono::duration_cast<std::chrono::nanoseconds>(since);
}

void StreamClock::clear() {
  for (const Event& event : marks_)
    free_[event.gpu].push_back(event.native);
  marks_.clear();
}

}  // namespace tandem::cuda
