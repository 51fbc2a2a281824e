// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/subject.hpp"

#include <array>
#include <cstddef>

#include <CLI/CLI.hpp>

namespace tandem::cli {
namespace {

/// As Subject lists them.
constexpr std::array kTitles{"Model",
                             "Data",
                             "Optimizer",
                             "Precision and seed",
                             "Steps",
                             "Batch",
                             "Mode and sharding",
                             "Devices and memory",
                             "Simulated machine",
                             "Collectives",
                             "Measured tables",
                             "Checkpoints",
                             "Generated text",
                             "Processes",
                             "Output",
                             "Help"};
static_assert(kTitles.size() == static_cast<std::size_t>(Subject::help) + 1);

}  // namespace

void begin_subject(CLI::App& app, Subject subject) {
  app.option_defaults()->group(title(subject));
}

std::string title(Subject subject) {
  return kTitles.at(static_cast<std::size_t>(subject));
}

std::vector<std::string> all_subjects() {
  return {kTitles.begin(), kTitles.end()};
}

}  // namespace tandem::cli
