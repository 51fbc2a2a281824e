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

std::string traffic_of(const Mode& mode, std::int64_t steps) {
  const auto most = std::ranges::max(mode.devices, {}, &DeviceFigures::bytes_sent);
  return fmt::format(
      "{}; {} sends {} a step",
      mode.words->collectives,
      to_string(most.device),
      format_nbytes(most.bytes_sent / static_cast<std::size_t>(std::max<std::int64_t>(1, steps))));
}

/// Those that divide a batch.
std::vector<const Mode*> dividing_modes(const Comparison& comparison) {
  std::vector<const Mode*> modes;
  for (const Mode& mode : comparison.modes)
    if (mode.words && mode.devices.size() > 1) modes.push_back(&mode);
  return modes;
}

}  // namespace

std::string mode_table(const Comparison& comparison) {
  const std::vector<const Mode*> modes = dividing_modes(comparison);
  if (modes.size() < 2) return "";
  std::string text;
  const auto add = [&](std::string_view aspect, const std::function<std::string(const Mode&)>& of) {
    for (const Mode* mode : modes)
      text += fmt::format("{:<16} {:<21} {}\n",
                          mode == modes.front() ? aspect : std::string_view(),
                          mode->mode,
                          of(*mode));
  };
  add("goal", [](const Mode& m) { return m.words->goal; });
  add("dimension", [](const Mode& m) { return m.words->divides; });
  add("memory", memory_of);
  add("communication", [&](const Mode& m) { return traffic_of(m, comparison.steps); });
  add("synchronisation", [](const Mode& m) { return m.words->waits; });
  add("data", [](const Mode&) { return "one loader; each device gets its rows"; });
  add("update", [](const Mode& m) { return m.words->update; });
  add("use of devices", use_of);
  return text;
}

}  // namespace tandem::report
