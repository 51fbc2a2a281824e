// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/iteration_report.hpp"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "cli/console.hpp"

namespace tandem::cli {

using sim::IterationComparison;
using sim::IterationRow;

nlohmann::json iterations_json(const sim::IterationTable& table,
                               const IterationComparison& comparison) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const IterationRow& row = table.rows[i];
    const IterationComparison::Row& times = comparison.rows[i];
    rows.push_back({{"line", row.line},
                    {"name", row.name},
                    {"model", row.model},
                    {"mode", row.mode},
                    {"gpus", row.gpus},
                    {"batch", row.batch},
                    {"context", row.context},
                    {"measured_ms", times.measured * 1e3},
                    {"predicted_ms", times.predicted * 1e3},
                    {"error_percent", times.error() * 100},
                    {"kernel_speed", times.kernel_speed},
                    {"given", times.is_given}});
  }
  return {{"table", table.name},
          {"rows", rows},
          {"mape", comparison.error * 100},
          {"null_model",
           {{"TFLOPps", comparison.null_speed * 1e-12}, {"mape", comparison.null_error * 100}}}};
}

void print_iterations(const sim::IterationTable& table, const IterationComparison& comparison) {
  console::print("{:>4}  {:<12} {:<20} {:>4} {:>6} {:>7} {:>12} {:>13} {:>8}   name\n",
                 "line",
                 "model",
                 "mode",
                 "GPUs",
                 "batch",
                 "context",
                 "measured ms",
                 "predicted ms",
                 "error");
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const IterationRow& row = table.rows[i];
    const IterationComparison::Row& times = comparison.rows[i];
    console::print("{:>4}  {:<12} {:<20} {:>4} {:>6} {:>7} {:>12.1f} {:>13.1f} {:>8}   {}\n",
                   row.line,
                   row.model,
                   row.mode,
                   row.gpus,
                   row.batch,
                   row.context,
                   times.measured * 1e3,
                   times.predicted * 1e3,
                   times.is_given ? "given" : fmt::format("{:+.1f}%", times.error() * 100),
                   console::shown(row.name));
  }
  const auto count =
      std::ranges::count_if(comparison.rows, [](const auto& row) { return !row.is_given; });
  console::print("\nmean error of {} {}: {:.2f} %\n",
                 count,
                 count == 1 ? "row" : "rows",
                 comparison.error * 100);
  console::print("null model, {:.2f} TFLOP/s of a GPU fitted to these rows: {:.2f} %\n",
                 comparison.null_speed * 1e-12,
                 comparison.null_error * 100);
}

}  // namespace tandem::cli
