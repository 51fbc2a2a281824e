// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "tandem/runtime/unowned_memory.hpp"

namespace tandem::report {
namespace {

using nlohmann::json;
using profile::DeviceMemory;
using profile::Held;

constexpr std::size_t kOwners = 5;  // that are shown of a device
constexpr int kWidth = 40;          // of the longest bar, in columns

/// Sums of what is held, by category and then by the phase that allocated it.
std::array<std::array<std::size_t, kPhases>, kCategories> by_phase(const std::vector<Held>& held) {
  std::array<std::array<std::size_t, kPhases>, kCategories> sums{};
  for (const Held& h : held)
    sums[static_cast<std::size_t>(h.category)][static_cast<std::size_t>(h.phase)] += h.nbytes;
  return sums;
}

/// Phase none is what was there before the first step, or between steps.
const char* phase_name(Phase phase) {
  return phase == Phase::none ? "before" : name(phase);
}

json categories_and_phases(const std::vector<Held>& held) {
  auto categories = json::object();
  const auto sums = by_phase(held);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    auto phases = json::object();
    std::size_t sum = 0;
    for (std::size_t p = 0; p < sums[c].size(); ++p) {
      if (sums[c][p] > 0) phases[phase_name(static_cast<Phase>(p))] = sums[c][p];
      sum += sums[c][p];
    }
    if (sum > 0)
      categories[name(static_cast<Category>(c))] = {{"bytes", sum}, {"by_phase", phases}};
  }
  return categories;
}

json owners(const std::vector<Held>& held) {
  auto list = json::array();
  for (const Held& h : held) {
    list.push_back({{"category", name(h.category)},
                    {"phase", phase_name(h.phase)},
                    {"module", h.module_path},
                    {"bytes", h.nbytes}});
  }
  return list;
}

json sums_of(const std::vector<Held>& held) {
  auto categories = json::object();
  const profile::CategoryBytes sums = profile::by_category(held);
  for (std::size_t c = 0; c < sums.size(); ++c)
    categories[name(static_cast<Category>(c))] = sums[c];
  return categories;
}

/// `nbytes` of `most` as blocks and eighths of one.
std::string bar(std::size_t nbytes, std::size_t most) {
  static constexpr std::array kEighths{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(
      std::lround(static_cast<double>(nbytes) / static_cast<double>(most) * (8 * kWidth)));
  std::string text;
  for (std::size_t i = 0; i < eighths / 8; ++i)
    text += "█";
  text += kEighths[eighths % 8];
  if (text.empty()) text = "▏";
  const std::size_t columns = std::max<std::size_t>((eighths + 7) / 8, 1);
  return text + std::string(kWidth - std::min<std::size_t>(columns, kWidth), ' ');
}

/// "forward 10.1 MiB, backward 2.2 MiB": the phases in which the bytes were allocated.
std::string phases(const std::array<std::size_t, kPhases>& sums) {
  std::string text;
  for (std::size_t p = 0; p < sums.size(); ++p) {
    if (sums[p] == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", phase_name(static_cast<Phase>(p)), format_nbytes(sums[p]));
  }
  return text;
}

/// "activation of conv1 in forward", "parameter of conv1", "input".
std::string owner(const Held& h) {
  std::string text = name(h.category);
  if (!h.module_path.empty()) text += " of " + h.module_path;
  if (h.phase != Phase::none) text += fmt::format(" in {}", name(h.phase));
  return text;
}

std::string device_text(const DeviceMemory& m, const MemoryNote& note, std::size_t most) {
  std::string text = fmt::format(
      "\n{:<8} {} {:>12}  reached in {}{}\n",
      to_string(m.device),
      note.rows ? fmt::format("{:>6} rows", *note.rows) : std::string(11, ' '),
      format_nbytes(m.peak),
      phase_name(m.peak_phase),
      note.planned_bytes ? fmt::format(", planned {}", format_nbytes(*note.planned_bytes)) : "");
  const auto sums = by_phase(m.at_peak);
  const profile::CategoryBytes totals = profile::by_category(m.at_peak);
  std::vector<std::pair<std::size_t, std::size_t>> ordered;  // bytes, category
  for (std::size_t c = 0; c < totals.size(); ++c)
    if (totals[c] > 0) ordered.emplace_back(totals[c], c);
  std::ranges::stable_sort(ordered, std::ranges::greater{}, [](const auto& x) { return x.first; });
  for (const auto& [nbytes, c] : ordered) {
    text += fmt::format("  {:<16} {} {:>11}  {}\n",
                        name(static_cast<Category>(c)),
                        bar(nbytes, most),
                        format_nbytes(nbytes),
                        phases(sums[c]));
  }
  if (const auto unowned = unowned_memory(m.device)) {
    text += fmt::format(
        "  the process holds {} more GPU memory: context, NCCL, cuBLAS, blocks that pools keep\n",
        format_nbytes(*unowned));
  }
  std::string largest;
  for (std::size_t i = 0; i < std::min(m.at_peak.size(), kOwners); ++i) {
    const Held& h = m.at_peak[i];
    largest += fmt::format("{}{} {}", i == 0 ? "" : ", ", owner(h), format_nbytes(h.nbytes));
  }
  if (!largest.empty()) text += fmt::format("  largest owners: {}\n", largest);
  return text;
}

}  // namespace

std::string text(const profile::MemoryProfile& memory,
                 const std::vector<MemoryNote>& notes,
                 const Remedies& remedies) {
  std::size_t most = 1;
  for (const DeviceMemory& m : memory.devices)
    most = std::max(most, m.peak);
  std::string text;
  for (std::size_t d = 0; d < memory.devices.size(); ++d)
    text += device_text(memory.devices[d], d < notes.size() ? notes[d] : MemoryNote{}, most);
  if (memory.devices.size() > 1) {
    text += fmt::format("\nimbalance {:.2f}: the peak of {} over the mean peak of the others\n",
                        memory.imbalance(),
                        to_string(memory.devices.front().device));
    for (const std::string& sentence : advice(memory, remedies))
      text += sentence + "\n";
  }
  return text;
}

json to_json(const profile::MemoryProfile& memory) {
  auto devices = json::array();
  for (const DeviceMemory& m : memory.devices) {
    devices.push_back({{"name", to_string(m.device)},
                       {"peak_bytes", m.peak},
                       {"peak_phase", phase_name(m.peak_phase)},
                       {"peak_by_category", sums_of(m.at_peak)},
                       {"peak_by_category_and_phase", categories_and_phases(m.at_peak)},
                       {"peak_owners", owners(m.at_peak)},
                       {"in_use_bytes", m.in_use},
                       {"in_use_by_category", sums_of(m.now)}});
    if (const auto unowned = unowned_memory(m.device)) devices.back()["unowned_bytes"] = *unowned;
  }
  return {{"schema_version", 1},
          {"complete", memory.complete},
          {"imbalance", memory.imbalance()},
          {"devices", devices}};
}

}  // namespace tandem::report
