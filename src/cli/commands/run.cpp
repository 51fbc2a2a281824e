// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>

#include "cli/command.hpp"

namespace tandem::cli {
namespace {

void add_flags(CLI::App& app) {  // as python/tandem/runner/command.py reads them
  for (const char* question : {"--memory", "--explain", "--compare-ddp"})
    app.add_flag(question);
  for (const char* name :
       {"--largest-batch", "--replace", "--step", "--report", "--json", "--snapshot", "--devices"})
    app.add_option(name);
  app.add_option("--then")->check(CLI::IsMember({"end", "continue"}));
}

}  // namespace

Command run_command() {
  return {.name = "run",
          .summary = "run a program of PyTorch on several devices, unchanged",
          .purpose = Purpose::start,
          .add_flags_of_package = add_flags};
}

}  // namespace tandem::cli
