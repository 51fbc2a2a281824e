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

namespace tandem::parallel::detail {

void run_on_devices(std::span<const Device> devices,
                    std::function<void(int)> job,
                    ParallelApplyOptions options) {
  const auto deadline =
      std::min(context().deadline, std::chrono::steady_clock::now() + options.deadline);
  const std::set<Device> distinct(devices.begin(), devices.end());
  for (const Device device : distinct)
    logical_device(device).worker();  // has its thread, or throws before a job runs
  std::vector<Replica> replicas;
  std::vector<Ticket> tickets;
  for (const Device device : devices) {
    const int i = static_cast<int>(replicas.size());
    Worker& worker = logical_device(device).worker();
    TANDEM_CHECK(!worker.is_current(),
                 "parallel_apply: called from the thread of ",
                 device,
                 ", one of its own devices; call it from outside");
    const ContextScope scope([&](Context& c) {
      c.phase = Phase::forward;
      c.replica = i;
      c.threads = std::max(1, core_count() / static_cast<int>(distinct.size()));
      c.deadline = deadline;
    });
    replicas.push_back({i, device, context().rows});
    tickets.push_back(worker.submit([job, i] { job(i); }));
  }
  std::vector<std::exception_ptr> errors;
  for (Ticket& ticket : tickets)
    errors.push_back(ticket.outcome(deadline));
  if (std::ranges::any_of(errors, [](const auto& e) { return e != nullptr; })) {
    throw_replica_error(
        std::move(errors), replicas, std::vector<Phase>(replicas.size(), Phase::forward));
  }
}

}  // namespace tandem::parallel::detail
