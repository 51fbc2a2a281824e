// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/mode_table.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tandem/runtime/memory.hpp"

namespace tandem::report {
namespace {

struct Row {
  const Mode* mode;
  const parallel::ModeWords* words;
};

/// The emptiest device and the fullest one.
auto extremes_of(const Mode& mode) {
  return std::ranges::minmax(mode.devices, {}, &DeviceFigures::peak_bytes);
}

std::string memory_of(const Mode& mode) {
  const auto [least, most] = extremes_of(mode);
  return fmt::format("{} on {}, at most; {} on {}, at least",
                     format_nbytes(most.peak_bytes),
                     to_string(most.device),
                     format_nbytes(least.peak_bytes),
                     to_string(least.device));
}

std::string use_of(const Mode& mode) {
  const auto [least, most] = extremes_of(mode);
  const double ratio = static_cast<double>(most.peak_bytes) /
                       static_cast<double>(std::max<std::size_t>(1, least.peak_bytes));
  const auto rows = std::ranges::minmax(mode.devices, {}, &DeviceFigures::rows);
  const std::string range = rows.min.rows == rows.max.rows
                                ? fmt::format("{}", rows.min.rows)
                                : fmt::format("{} to {}", rows.min.rows, rows.max.rows);
  return fmt::format(
      "{} rows a device; the fullest has {:.2f} times the emptiest one's memory", range, ratio);
}

std::string traffic_of(const Row& row, std::int64_t steps) {
  const auto most = std::ranges::max(row.mode->devices, {}, &DeviceFigures::bytes_sent);
  return fmt::format(
      "{}; {} sends {} a step",
      row.words->collectives,
      to_string(most.device),
      format_nbytes(most.bytes_sent / static_cast<std::size_t>(std::max<std::int64_t>(1, steps))));
}

std::vector<Row> rows_of(const Comparison& comparison) {
  std::vector<Row> rows;
  for (const Mode& mode : comparison.modes)
    if (mode.words && mode.devices.size() > 1) rows.push_back({&mode, &*mode.words});
  return rows;
}

}  // namespace

std::string mode_table(const Comparison& comparison) {
  const std::vector<Row> rows = rows_of(comparison);
  if (rows.size() < 2) return "";
  std::string text;
  const auto add = [&](std::string_view aspect, const std::function<std::string(const Row&)>& of) {
    for (const Row& row : rows)
      text += fmt::format("{:<16} {:<21} {}\n",
                          &row == &rows.front() ? aspect : std::string_view(),
                          row.mode->mode,
                          of(row));
  };
  add("goal", [](const Row& r) { return std::string(r.words->goal); });
  add("dimension", [](const Row& r) { return fmt::format("{}", r.words->divides); });
  add("memory", [](const Row& r) { return memory_of(*r.mode); });
  add("communication", [&](const Row& r) { return traffic_of(r, comparison.steps); });
  add("synchronisation", [](const Row& r) { return std::string(r.words->waits); });
  add("data", [](const Row&) { return std::string("one loader; each device gets its rows"); });
  add("update", [](const Row& r) { return std::string(r.words->update); });
  add("use of devices", [](const Row& r) { return use_of(*r.mode); });
  return text;
}

}  // namespace tandem::report
