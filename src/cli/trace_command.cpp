// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <vector>

#include "tandem/profile/trace.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/details.hpp"
#include "cli/output.hpp"
#include "cli/output_files.hpp"
#include "cli/setup.hpp"
#include "cli/trial.hpp"

namespace tandem::cli {

int run_trace(const TraceRequest& request) {
  RunOptions options = resolve(request.run);
  check_files({{"--text", options.text, FileUse::read}, {"--output", request.output}});
  options.steps = options.steps.value_or(3);
  const std::vector<Device> devices = working_devices(options);
  const DataSets sets = load_data(options);
  Trial trial(options, sets, devices);
  trial.run(1);
  const Details seen = watch(trial, *options.steps);
  const profile::StepRecord& record = seen.record;
  const std::string trace = profile::trace_json(record, seen.memory);
  write_text(request.output, trace);
  if (request.output == "-") return 0;
  console::print(
      "{}: {} pieces of work and {} transfers of {} steps, {:.1f} ms; open it at ui.perfetto.dev\n",
      request.output,
      record.work.size(),
      record.transfers.size(),
      *options.steps,
      ms(record.duration));
  if (!record.complete || !seen.memory.complete)
    console::print(
        "not all of it: the host had no memory to keep everything, or a GPU's times could not be "
        "taken\n");
  console::print("\n");
  print_time(seen.time, *options.steps);
  return 0;
}

}  // namespace tandem::cli
