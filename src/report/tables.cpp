// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/tables.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "report/phases.hpp"

namespace tandem::report {
namespace {

using parallel::ExplainedDevice;

double ms_of(profile::Duration t, std::int64_t steps) {
  return ms(t) / static_cast<double>(steps);
}

/// The numbers from 0 to n - 1 of which `used` is true of some of `items`.
template <class Items, class F>
std::vector<std::size_t> used_columns(std::size_t n, const Items& items, const F& used) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < n; ++c)
    if (std::ranges::any_of(items, [&](const auto& item) { return used(item, c); }))
      columns.push_back(c);
  return columns;
}

std::string memory_table(const Recording& d) {
  std::string text;
  const auto columns =
      used_columns(kCategories, d.memory.devices, [](const auto& m, std::size_t c) {
        return profile::by_category(m.at_peak)[c] > 0;
      });
  text += fmt::format("{:<16}", "peak, KiB");
  for (const std::size_t c : columns)
    text += fmt::format(" {:>15}", name(static_cast<Category>(c)));
  text += "\n";
  for (const profile::DeviceMemory& m : d.memory.devices) {
    text += fmt::format("{:<16}", to_string(m.device));
    for (const std::size_t c : columns)
      text +=
          fmt::format(" {:>15.1f}", static_cast<double>(profile::by_category(m.at_peak)[c]) / 1024);
    text += "\n";
  }
  return text;
}

std::string links_table(const Recording& d) {
  std::string text;
  if (d.time.links.empty()) return text;
  const auto columns = used_columns(kCategories, d.time.links, [](const auto& link, std::size_t c) {
    return link.second.by_category[c] > 0;
  });
  text += fmt::format("{:<16}", "KiB per step");
  for (const std::size_t c : columns)
    text += fmt::format(" {:>15}", name(static_cast<Category>(c)));
  text += "\n";
  for (const auto& [link, traffic] : d.time.links) {
    text += fmt::format("{:<16}", to_string(link.source) + " -> " + to_string(link.destination));
    for (const std::size_t c : columns) {
      text += fmt::format(
          " {:>15.1f}",
          static_cast<double>(traffic.by_category[c]) / 1024 / static_cast<double>(d.steps));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string time_table(const parallel::Explanation& time, std::int64_t steps) {
  std::string text;
  const auto columns =
      used_columns(kPhases, time.devices, [](const ExplainedDevice& e, std::size_t p) {
        return e.time[p] > profile::Duration{};
      });
  text += fmt::format("{:<16}", "ms per step");
  for (const std::size_t p : columns)
    text += fmt::format(" {:>15}", phase_name(p));
  text += fmt::format(" {:>15} {:>15} {:>15}\n", "collectives", "waiting", "idle");
  for (const ExplainedDevice& e : time.devices) {
    text += fmt::format("{:<16}", to_string(e.device));
    profile::Duration busy = e.in_collectives;
    for (const std::size_t p : columns) {
      text += fmt::format(" {:>15.2f}", ms_of(e.time[p], steps));
      busy += e.time[p];
    }
    text += fmt::format(" {:>15.2f} {:>15.2f} {:>15.2f}\n",
                        ms_of(e.in_collectives - e.waiting, steps),
                        ms_of(e.waiting, steps),
                        ms_of(std::max(time.duration - busy, profile::Duration{}), steps));
  }
  if (time.overlap.transferring > profile::Duration{}) {
    text += fmt::format(
        "overlap: bytes were under way for {:.2f} ms of a step, and a device computed during "
        "{:.0f} % of that time\n",
        ms_of(time.overlap.transferring, steps),
        100 * time.overlap.share());
  }
  return text;
}

std::string tables(const std::string& mode, const Recording& recording) {
  return "\n" + mode + "\n" + memory_table(recording) +
         time_table(recording.time, recording.steps) + links_table(recording);
}

}  // namespace tandem::report
