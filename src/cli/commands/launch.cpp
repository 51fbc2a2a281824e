// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <charconv>
#include <chrono>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tandem/runtime/runtime.hpp"
#include "tandem/world/launcher.hpp"

#include "cli/command.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// GPUs of this machine, or one.
int usual_processes() {
  return std::max(1, device_count(DeviceType::cuda));
}

struct LaunchRequest {
  std::string processes = "auto";
  std::string master = "127.0.0.1:0";
  std::string log_dir;
  double grace_s = 10;
  std::vector<std::string> command;

  void add_flags(CLI::App& app) {
    app.footer("The program comes last: tandem launch --nproc 2 ./train --epochs 3");
    app.prefix_command();
    begin_subject(app, Subject::processes);
    app.add_option("--nproc", processes, "number of processes; auto is one for each GPU, or one")
        ->capture_default_str();
    app.add_option("--master", master, "address at which the processes meet; port 0 is a free one")
        ->capture_default_str();
    app.add_option(
        "--log-dir",
        log_dir,
        "folder for what the processes print, as R.out and R.err of each rank; otherwise it "
        "is printed here, each line behind [R]");
    app.add_option(
           "--grace",
           grace_s,
           "seconds between the signal that asks processes to end and the one that ends them")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    app.parse_complete_callback([this, &app] { command = app.remaining(); });
  }
  int run() const;
};

int LaunchRequest::run() const {
  world::LauncherOptions options{
      .command = command,
      .store = world::parse_address(master),
      .log_dir = log_dir,
      .grace = std::chrono::milliseconds(static_cast<int>(1e3 * grace_s))};
  if (command.empty())
    throw UsageError("launch: there is no program to start; write tandem launch --nproc 2 PROGRAM");
  options.processes = usual_processes();
  if (processes != "auto") {
    const auto [end, error] =
        std::from_chars(processes.data(), processes.data() + processes.size(), options.processes);
    if (error != std::errc{} || end != processes.data() + processes.size() || options.processes < 1)
      throw UsageError("--nproc: '" + processes + "' is neither a number above 0 nor auto");
  }
  return world::launch(options);
}

}  // namespace

Command launch_command() {
  return make_command<LaunchRequest>(
      {.name = "launch",
       .summary = "start several processes of a program; stop all when one fails",
       .purpose = Purpose::processes});
}

}  // namespace tandem::cli
