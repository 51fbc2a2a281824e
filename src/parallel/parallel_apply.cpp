// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/parallel_apply.hpp"

#include <algorithm>
#include <exception>
#include <set>

#include "tandem/core/check.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/job_group.hpp"

namespace tandem::parallel::detail {

void run_on_devices(std::span<const Device> devices,
                    std::function<void(int)> job,
                    ParallelApplyOptions options) {
  const std::set<Device> distinct(devices.begin(), devices.end());
  for (const Device device : distinct) {  // each has its thread, or throws before a job runs
    TANDEM_CHECK(!logical_device(device).worker().is_current(),
                 "parallel_apply: called from the thread of ",
                 device,
                 ", one of its own devices; call it from outside");
  }
  const Deadline deadline =
      Deadline(options.deadline, {devices.begin(), devices.end()}).within(context().deadline);
  std::vector<Replica> replicas;
  JobGroup jobs(devices.size(), deadline);
  const auto submit = [&](Device device) {
    const int i = static_cast<int>(replicas.size());
    const ContextScope scope([&](Context& c) {
      c.phase = Phase::forward;
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
  if (std::ranges::any_of(errors, [](const auto& e) { return e != nullptr; })) {
    throw_replica_error(
        std::move(errors), replicas, std::vector<Phase>(replicas.size(), Phase::forward));
  }
}

}  // namespace tandem::parallel::detail
