// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/memory_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "tandem/profile/memory_profile.hpp"

#include "report/breakdown.hpp"
#include "report/mode_figures.hpp"

namespace tandem::report {
namespace {

using profile::CategoryBytes;
using profile::DeviceMemory;
using profile::Duration;
using profile::MemoryMoment;

constexpr double kArea = 130;         // height of a picture over time
constexpr std::size_t kMoments = 90;  // of a picture over time

/// The most that any device holds: the pictures have one scale.
double fullest(const std::vector<const Mode*>& modes) {
  std::size_t most = 1;
  for (const Mode* mode : modes)
    most = std::max(most, largest_peak(*mode));
  return static_cast<double>(most);
}

std::vector<const Mode*> all_of(const Comparison& comparison) {
  std::vector<const Mode*> all;
  for (const Mode& mode : comparison.modes)
    all.push_back(&mode);
  return all;
}

/// The modes of several devices, or all where there are none.
std::vector<const Mode*> side_by_side(const Comparison& comparison) {
  std::vector<const Mode*> several = all_of(comparison);
  std::erase_if(several, [](const Mode* mode) { return mode->devices.size() < 2; });
  return several.empty() ? all_of(comparison) : several;
}

std::string text_of(double nbytes) {
  return nbytes > 0 ? format_nbytes(static_cast<std::size_t>(nbytes)) : "0";
}

/// "1.20 in dp-server, 1.00 in ddp".
std::string imbalances(const Comparison& comparison) {
  std::string text;
  for (const Mode& mode : comparison.modes) {
    if (mode.recording.memory.devices.size() < 2) continue;
    text += fmt::format(
        "{}{:.2f} in {}", text.empty() ? "" : ", ", mode.recording.memory.imbalance(), mode.mode);
  }
  return text;
}

std::string sentence_at_peak(const Comparison& comparison) {
  const Mode* worst = nullptr;
  for (const Mode& mode : comparison.modes) {
    if (mode.recording.memory.devices.size() < 2) continue;
    if (worst == nullptr || mode.recording.memory.imbalance() > worst->recording.memory.imbalance())
      worst = &mode;
  }
  if (worst == nullptr) return "What the one device holds when it holds most.";
  const std::string first = to_string(worst->recording.memory.devices.front().device);
  std::string text = fmt::format(
      "What each device holds when it holds most. The peak of {} divided by the mean peak of the "
      "others is {}.",
      first,
      imbalances(comparison));
  const std::vector<std::string> why = advice(worst->recording.memory, comparison.remedies);
  for (const std::string& reason : why)
    text +=
        fmt::format(" {}{}.", &reason == &why.front() ? "In " + worst->mode + ": " : "", reason);
  return text;
}

/// The moments of most memory, one of each of some stretches of time, and the last.
std::vector<MemoryMoment> thinned(const std::vector<MemoryMoment>& all, Duration duration) {
  std::vector<MemoryMoment> kept;
  std::int64_t stretch = -1;
  for (const MemoryMoment& m : all) {
    const auto at = static_cast<std::int64_t>(ms(m.at) / ms(duration) * kMoments);
    if (at != stretch)
      kept.push_back(m);
    else if (m.in_use > kept.back().in_use)
      kept.back() = m;
    stretch = at;
  }
  if (!all.empty() && kept.back().at != all.back().at) kept.push_back(all.back());
  return kept;
}

/// A level, and how far it goes.
struct Step {
  long y, x;
};

/// A line along the steps. Steps in a row at the same level are drawn as one.
std::string line_of(const std::vector<Step>& steps) {
  std::string line;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == 0 || steps[i].y != steps[i - 1].y) line += fmt::format("V{}", steps[i].y);
    if (i + 1 == steps.size() || steps[i].y != steps[i + 1].y)
      line += fmt::format("H{}", steps[i].x);
  }
  return line;
}

/// The causes on top of one another, from the step's beginning to its end. @param whole  time of
/// the picture's width.
Picture area_of(const DeviceMemory& m,
                const std::string& mode,
                Duration duration,
                Duration whole,
                const Axis& scale,
                Legend& legend) {
  Picture picture(kArea, fmt::format("bytes of {} in {} over a step", to_string(m.device), mode));
  const std::vector<MemoryMoment> moments = thinned(m.timeline, whole);
  const auto x = [&](std::size_t i) {
    return std::lround(1000 * ms(i < moments.size() ? moments[i].at : duration) / ms(whole));
  };
  const auto y = [&](std::size_t bytes) {
    return std::lround(kArea * (1 - static_cast<double>(bytes) / scale.end));
  };
  std::vector<std::size_t> below(moments.size()), above(moments.size());
  for (int c = 0; c < kCategories; ++c) {
    const auto category = static_cast<std::size_t>(c);
    std::size_t most = 0;
    for (std::size_t i = 0; i < moments.size(); ++i) {
      above[i] = below[i] + moments[i].by_category[category];
      most = std::max(most, moments[i].by_category[category]);
    }
    if (most == 0) continue;
    std::vector<Step> there, back;
    for (std::size_t i = 0; i < moments.size(); ++i)
      there.push_back({y(above[i]), x(i + 1)});
    for (std::size_t i = moments.size(); i-- > 0;)
      back.push_back({y(below[i]), x(i)});
    const std::string d = fmt::format("M{} {}", x(0), y(above[0])) + line_of(there) + line_of(back);
    const Kind kind = kind_of(static_cast<Category>(c));
    picture.path(
        d + "z",
        kind.style,
        fmt::format("{}: at most {}\n{}", kind.name, format_nbytes(most), to_string(m.device)));
    legend.add(kind);
    below = above;
  }
  return picture;
}

/// The fullest but the first.
const DeviceMemory* fullest_other(const std::vector<DeviceMemory>& devices) {
  if (devices.size() < 2) return nullptr;
  return &*std::ranges::max_element(devices.begin() + 1, devices.end(), {}, &DeviceMemory::peak);
}

std::string largest_owner(const DeviceMemory& m) {
  if (m.at_peak.empty()) return "-";
  const profile::Held& h = m.at_peak.front();
  return fmt::format("{}{}{} {}",
                     name(h.category),
                     h.module_path.empty() ? "" : " of ",
                     h.module_path,
                     format_nbytes(h.nbytes));
}

}  // namespace

std::string memory_at_peak(const Comparison& comparison) {
  Breakdown breakdown(axis_of_bytes(fullest(all_of(comparison)), 6), text_of);
  for (const Mode& mode : comparison.modes) {
    for (std::size_t i = 0; i < shown(mode); ++i) {
      const DeviceMemory& m = mode.recording.memory.devices[i];
      const CategoryBytes sums = profile::by_category(m.at_peak);
      std::vector<Breakdown::Value> parts;
      for (std::size_t c = 0; c < sums.size(); ++c)
        if (sums[c] > 0)
          parts.push_back({kind_of(static_cast<Category>(c)), static_cast<double>(sums[c])});
      breakdown.device(mode.mode, to_string(m.device), std::move(parts), format_nbytes(m.peak));
    }
  }
  return section("memory",
                 "Memory at the peak, by cause",
                 sentence_at_peak(comparison),
                 breakdown.html("peak", text_of));
}

std::string memory_over_time(const Comparison& comparison) {
  const std::vector<const Mode*> modes = side_by_side(comparison);
  const Axis axis = axis_of_bytes(fullest(modes), 4);
  std::vector<std::string> labels;
  for (const double t : axis.ticks)
    labels.push_back(text_of(t));
  Duration duration{1};
  for (const Mode* mode : modes)
    duration = std::max(duration, mode->recording.memory.duration);
  Legend legend;
  std::string pictures;
  Table table({"mode", "device", "peak", "reached at", "in", "largest owner"});
  for (const Mode* mode : modes) {
    const auto& devices = mode->recording.memory.devices;
    pictures += fmt::format("<h3>{}</h3>\n<div class=\"pair\">", mode->mode);
    for (const DeviceMemory* m : {&devices.front(), fullest_other(devices)}) {
      if (m == nullptr) continue;
      pictures += fmt::format(
          "<div class=\"chart\"><h4>{}</h4>{}{}</div>\n",
          to_string(m->device),
          ticks_beside(axis, labels),
          area_of(*m, mode->mode, mode->recording.memory.duration, duration, axis, legend).html());
      table.row({mode->mode,
                 to_string(m->device),
                 format_nbytes(m->peak),
                 fmt::format("{:.2f} ms", ms(m->peak_at)),
                 std::string(kind_of(m->peak_phase).name),
                 largest_owner(*m)});
    }
    pictures += "</div>\n";
  }
  const std::string says = fmt::format(
      "{} The width is {:.2f} ms, the longest of these steps. Memory that is kept is drawn below "
      "memory that comes and goes with the forward and the backward.",
      modes.front()->devices.size() > 1 ? "The first device, and the fullest of the others."
                                        : "The device, from the step's beginning to its end.",
      ms(duration));
  return section("memory-over-time",
                 "Memory through a step",
                 says,
                 legend.html() + "<figure>" + pictures + "</figure>\n" + table.html());
}

}  // namespace tandem::report
