// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/gpu/stream_clock.hpp"

#include <utility>

#include "tandem/runtime/logical_device.hpp"

#include "runtime/gpu/gpu_device.hpp"

namespace tandem {

// The event is reached at once, since the stream is idle: somewhere between the moments before and
// after, of which the closest of some tries are taken.
void StreamClock::calibrate(const Stream& stream) {
  constexpr int kTries = 5;
  using Clock = std::chrono::steady_clock;
  stream.synchronize("profile");
  auto closest = Clock::duration::max();
  for (int i = 0; i < kTries; ++i) {
    const Clock::time_point before = Clock::now();
    auto point = stream.native()->point();
    point->wait("profile");
    const Clock::duration between = Clock::now() - before;
    if (between >= closest) continue;
    closest = between;
    origins_[stream.logical_device().gpu()->ordinal()] = {std::move(point), before + between / 2};
  }
}

StreamClock::Moment StreamClock::at(const std::shared_ptr<const StreamPoint>& point) {
  constexpr std::chrono::duration<double, std::milli> kNear(10'000);  // where f32 tells 1 us
  point->wait("profile");
  Origin& origin = origins_.at(point->ordinal());
  const std::chrono::duration<double, std::milli> since(point->since(*origin.point));
  const Moment moment = origin.moment + std::chrono::duration_cast<std::chrono::nanoseconds>(since);
  if (abs(since) > kNear) origin = {point, moment};
  return moment;
}

}  // namespace tandem
