// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/step_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tandem::sim {
namespace {

using profile::StepRecord;

template <class Event>
void append(std::vector<Event>& events, const std::vector<Event>& more, std::int64_t after) {
  for (Event event : more) {
    event.sequence += after;
    events.push_back(std::move(event));
  }
}

/// Two records that one recorder made one after the other, as one.
StepRecord joined(StepRecord record, const StepRecord& next) {
  std::int64_t last = 0;
  const auto look = [&](const auto& events) {
    for (const auto& event : events)
      last = std::max(last, event.sequence);
  };
  look(record.work);
  look(record.transfers);
  look(record.reads);
  look(record.jobs);
  append(record.work, next.work, last);
  append(record.transfers, next.transfers, last);
  append(record.reads, next.reads, last);
  append(record.jobs, next.jobs, last);
  for (profile::DataUse use : next.uses) {
    if (use.before != profile::DataUse::kOlder) use.before += last;
    use.user += last;
    record.uses.push_back(use);
  }
  record.complete = record.complete && next.complete;
  return record;
}

}  // namespace

FollowedStep simulate_after(const StepRecord& before,
                            const StepRecord& step,
                            const Cluster& cluster,
                            std::span<const Device> devices,
                            const SimulateOptions& options) {
  FollowedStep followed{.both = simulate(joined(before, step), cluster, devices, options),
                        .begin = simulate(before, cluster, devices, options).duration};
  followed.end = followed.both.duration;
  return followed;
}

profile::Duration time_after(const StepRecord& before,
                             const StepRecord& step,
                             const Cluster& cluster,
                             std::span<const Device> devices,
                             const SimulateOptions& options) {
  const FollowedStep followed = simulate_after(before, step, cluster, devices, options);
  return followed.end - followed.begin;
}

profile::Duration StepClock::time(const std::function<void()>& step) {
  const StepRecord before = std::exchange(before_, {});
  recorder_.take();  // a step that failed
  {
    const Subscription subscription(recorder_);
    step();
  }
  StepRecord record = recorder_.take();
  simulated_ = simulate(record, cluster_, devices_, options_);
  const profile::Duration time = before.work.empty()
                                     ? simulated_.duration
                                     : time_after(before, record, cluster_, devices_, options_);
  before_ = std::move(record);
  return time;
}

}  // namespace tandem::sim
