// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/parallel_apply.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <set>

#include "tandem/core/check.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/errors/failures.hpp"
#include "runtime/job_group.hpp"

namespace tandem::parallel::detail {
namespace {

/// The position of a job's random numbers: that of a forward of now, with a seed of its own.
std::shared_ptr<ForwardFrame> frame_of(int job) {
  constexpr std::uint64_t kApart = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio
  auto frame = std::make_shared<ForwardFrame>();
  if (const ForwardFrame* outer = context().frame.get()) {
    *frame = *outer;
  } else {
    const GeneratorState now = default_generator().get_state();
    *frame = {.seed = now.seed, .forward = now.forwards};
  }
  frame->seed += static_cast<std::uint64_t>(job) * kApart;
  return frame;
}

/// Counts the jobs that drew numbers as one forward, or as a part of the one that they are in.
void count_forward(const std::vector<std::shared_ptr<ForwardFrame>>& frames) {
  const bool drew = std::ranges::any_of(frames, [](const auto& frame) { return frame->drew; });
  if (!drew) return;
  ForwardFrame* const outer = context().frame.get();
  if (outer == nullptr) {
    default_generator().forwards().fetch_add(1, std::memory_order_relaxed);
    return;
  }
  outer->drew = true;
  // The first job has the outer seed: what comes after the jobs is not to repeat its numbers.
  for (const auto& frame : frames)
    for (const auto& [path, calls] : frame->calls)
      outer->calls[path] = std::max(outer->calls[path], calls);
}

}  // namespace

void run_on_devices(std::span<const Device> devices,
                    std::function<void(int)> job,
                    ParallelApplyOptions options) {
  const std::set<Device> distinct(devices.begin(), devices.end());
  for (const Device device : distinct) {  // each has its thread, or throws before a job runs
    TANDEM_CHECK(!logical_device(device).worker().is_current(),
                 "parallel_apply: called from the thread of ",
                 device,
                 ", which is one of its own devices; call it from another thread");
  }
  const Deadline deadline =
      Deadline(options.deadline, {devices.begin(), devices.end()}).within(context().deadline);
  std::vector<Replica> replicas;
  std::vector<std::shared_ptr<ForwardFrame>> frames;
  JobGroup jobs(devices.size(), deadline);
  const auto submit = [&](Device device) {
    const int i = static_cast<int>(replicas.size());
    frames.push_back(frame_of(i));
    const ContextScope scope([&](Context& c) {
      c.phase = Phase::forward;
      c.frame = frames.back();
      c.replica = i;
      c.threads = std::max(1, core_count() / static_cast<int>(distinct.size()));
      c.deadline = deadline;
    });
    replicas.push_back({i, device, context().rows});
    jobs.submit(logical_device(device).worker(), [job, i] { job(i); });
  };
  {
    const auto together = Runtime::instance().hold_queues();
    std::ranges::for_each(devices, submit);
  }
  std::vector<std::exception_ptr> errors = jobs.outcomes();
  if (!failed_among(errors).empty()) {
    throw_replica_error(
        std::move(errors), replicas, std::vector<Phase>(replicas.size(), Phase::forward));
  }
  count_forward(frames);
}

}  // namespace tandem::parallel::detail
