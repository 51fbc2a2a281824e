// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tandem/parallel/explain.hpp"
#include "tandem/profile/trace.hpp"

#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/setup.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {
namespace {

constexpr std::int64_t kWarmup = 2;  // steps that fill the caches of allocators and libraries

double ms(profile::Since t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

/// Per step: the time of each device by phase, in collectives, and without anything to do.
void print_table(const profile::StepRecord& record, std::int64_t steps) {
  const parallel::Explanation told = parallel::explain(record);
  const double per_step = 1.0 / static_cast<double>(steps);
  std::vector<std::size_t> phases;
  for (std::size_t p = 0; p < kPhases; ++p) {
    for (const parallel::ExplainedDevice& d : told.devices) {
      if (d.time[p] <= profile::Since{}) continue;
      phases.push_back(p);
      break;
    }
  }
  fmt::print("\n{:<14}", "ms of a step");
  for (const std::size_t p : phases)
    fmt::print(" {:>9}", p == 0 ? "other" : name(static_cast<Phase>(p)));
  fmt::print(" {:>11} {:>9}\n", "collectives", "idle");
  for (const parallel::ExplainedDevice& d : told.devices) {
    fmt::print("{:<14}", to_string(d.device));
    double idle = ms(record.duration) - ms(d.in_collectives);
    for (const std::size_t p : phases) {
      fmt::print(" {:>9.2f}", ms(d.time[p]) * per_step);
      idle -= ms(d.time[p]);
    }
    fmt::print(" {:>11.2f} {:>9.2f}\n", ms(d.in_collectives) * per_step, idle * per_step);
  }
}

}  // namespace

int run_trace(const TraceRequest& request) {
  RunOptions options = resolve(request.run);
  options.steps = options.steps.value_or(3);
  const std::vector<Device> devices = devices_of(options);
  const DataSets sets = load_data(options);
  Trial trial(options, sets, devices);
  trial.run(kWarmup);
  const profile::StepRecord record = profile::record([&] { trial.run(*options.steps); });
  const std::string trace = profile::trace_json(record);
  write_text(request.output, trace);
  fmt::print(
      "{}: {} pieces of work and {} transfers of {} steps, {:.1f} ms; open it at ui.perfetto.dev\n",
      request.output,
      record.work.size(),
      record.transfers.size(),
      *options.steps,
      ms(record.duration));
  if (!record.complete) fmt::print("not all of it: the host had no memory to keep everything\n");
  print_table(record, *options.steps);
  return 0;
}

}  // namespace tandem::cli
