// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/flight.hpp"

#include <string>

#include <CLI/CLI.hpp>

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/subject.hpp"
#include "cli/validators.hpp"
#include "report/flight.hpp"
#include "report/flight_trace.hpp"

namespace tandem::cli {
namespace {

/// What the processes of a run did together last, and who was missing.
struct FlightRequest {
  std::string folder;
  std::string trace;
  JsonChoice json;

  void add_flags(CLI::App& app) {
    app.add_option("DIR",
                   folder,
                   "folder of the records, which TANDEM_COMM_DUMP named when the program failed")
        ->required();
    begin_subject(app, Subject::output);
    app.add_option(
           "--trace",
           trace,
           "file to write the latest run's collectives to, for ui.perfetto.dev; - for stdout")
        ->transform(dash_for_stdout());
    json.add_flags(app);
  }
  int run() const;
};

int FlightRequest::run() const {
  check_files({json.given_file(), {"--trace", trace}});
  const comm::Flight flight = comm::read_flight(folder);
  for (const std::string& warning : flight.warnings)
    console::tell("tandem: {}\n", console::one_line(warning));
  json.write([&] { return report::flight_json(flight); });
  if (!trace.empty()) write_text(trace, report::flight_trace(flight.runs.front()));
  if (json.leaves_text() && trace != "-")
    console::print_text(console::readable(report::flight_text(flight)));
  return 0;
}

}  // namespace

Command flight_command() {
  return make_command<FlightRequest>(
      {.name = "flight",
       .summary = "say from flight records what failed first, and who was missing",
       .purpose = Purpose::processes});
}

}  // namespace tandem::cli
