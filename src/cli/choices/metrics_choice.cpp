// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/metrics_choice.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output_files.hpp"
#include "cli/subject.hpp"

namespace tandem::cli {
namespace {

/// The name says how the numbers are written; a device or a pipe takes either form.
CLI::Validator metrics_file() {
  const auto check = [](std::string& path) -> std::string {
    const bool known = path.ends_with(".csv") || path.ends_with(".jsonl") || is_stream(path);
    return known ? "" : fmt::format("expected FILE.csv or FILE.jsonl, not '{}'", path);
  };
  return {check, ""};
}

}  // namespace

void MetricsChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::output);
  app.add_option("--metrics",
                 file,
                 "write losses, times and peaks to this file as they come: FILE.csv or FILE.jsonl")
      ->check(metrics_file());
  app.add_option(
      "--tensorboard", tensorboard, "write the same values for TensorBoard to this directory");
}

}  // namespace tandem::cli
