// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/cuda/stream_clock.hpp"

#include <utility>

#include "tandem/runtime/logical_device.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/check.hpp"

namespace tandem::cuda {

// The event is reached at once, since the stream is idle: somewhere between the moments before and
// after, of which the closest of some tries are taken.
void StreamClock::calibrate(const Stream& stream) {
  constexpr int kTries = 5;
  using Clock = std::chrono::steady_clock;
  const GpuDevice& device = *stream.logical_device().cuda();
  synchronize(device, stream.native(), "profile");
  auto closest = Clock::duration::max();
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point before = Clock::now();
    auto point = std::make_shared<const StreamPoint>(stream);
    wait_event(point->native(), point->gpu(), "profile");
    const Clock::duration between = Clock::now() - before;
    if (between >= closest) continue;
    closest = between;
    origins_[device.gpu()] = {std::move(point), before + between / 2};
  }
}

StreamClock::Moment StreamClock::at(const std::shared_ptr<const StreamPoint>& point) {
  constexpr std::chrono::duration<double, std::milli> kNear(10'000);  // where f32 tells 1 us
  wait_event(point->native(), point->gpu(), "profile");
  const GpuScope scope(point->gpu());
  float ms = 0;
  Origin& origin = origins_.at(point->gpu());
  TANDEM_CUDA(cudaEventElapsedTime(&ms, origin.point->native(), point->native()));
  const std::chrono::duration<double, std::milli> since(ms);
  const Moment moment = origin.moment + std::chrono::duration_cast<std::chrono::nanoseconds>(since);
  if (abs(since) > kNear) origin = {point, moment};
  return moment;
}

}  // namespace tandem::cuda
