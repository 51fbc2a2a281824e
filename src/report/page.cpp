// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/page.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "report/colours.hpp"
#include "report/html.hpp"
#include "report/loss_picture.hpp"
#include "report/memory_pictures.hpp"
#include "report/mode_figures.hpp"
#include "report/overview.hpp"
#include "report/style.hpp"
#include "report/time_pictures.hpp"

namespace tandem::report {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::vector<std::string> modes_of(const Comparison& comparison) {
  std::vector<std::string> modes;
  for (const Mode& mode : comparison.modes)
    modes.push_back(mode.mode);
  return modes;
}

std::string devices_of(const Comparison& comparison) {
  const Mode* widest = &comparison.modes.front();
  for (const Mode& mode : comparison.modes)
    if (mode.devices.size() > widest->devices.size()) widest = &mode;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown(*widest); ++i)
    names.push_back(to_string(widest->devices[i].device));
  std::string text = joined(names);
  if (widest->devices.size() > kShownDevices)
    text += fmt::format(" and {} more, which are not drawn (--json has all)",
                        widest->devices.size() - kShownDevices);
  return text;
}

std::string head(const Comparison& comparison) {
  return fmt::format(
      "<header><h1>{} on {}</h1>\n"
      "<p>{} steps of {} rows by {} in {}, seed {}, in the modes {}; on {}, a machine of {} "
      "cores.</p></header>\n",
      escape(comparison.model),
      escape(comparison.data),
      comparison.steps,
      comparison.batch,
      escape(comparison.optimizer),
      escape(comparison.dtype),
      comparison.seed,
      escape(joined(modes_of(comparison))),
      escape(devices_of(comparison)),
      core_count());
}

constexpr const char* kContents =
    "<nav><a href=\"#modes\">Modes</a><a href=\"#memory\">Memory</a><a "
    "href=\"#memory-over-time\">Memory through a step</a><a href=\"#timeline\">Timeline</a><a "
    "href=\"#phases\">Phases</a><a href=\"#traffic\">Traffic</a><a href=\"#loss\">Loss</a></nav>\n";

using Part = std::string (*)(const Comparison&);

/// A whole file. @param head  above the parts; @param foot  a sentence below them.
std::string document(const Comparison& comparison,
                     const std::string& title,
                     const std::string& head,
                     const std::vector<Part>& parts,
                     const std::string& foot) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>tandem: {}</title>\n<style>{}{}</style></head><body>\n",
      escape(title),
      kStyle,
      colours_css());
  html += head + "<main>\n";
  for (const Part part : parts)
    html += part(comparison);
  html += fmt::format(
      "</main><footer><p>Written by tandem {} on {:%Y-%m-%d}. {}</p></footer>\n"
      "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{}</script></body></html>\n",
      version,
      fmt::gmtime(std::time(nullptr)),
      foot,
      kScript);
  return html;
}

/// One run, as the only mode of a comparison.
Comparison only(const Recording& recording) {
  Comparison comparison;
  Mode& mode = comparison.modes.emplace_back();
  mode.mode = "step";
  for (const profile::DeviceMemory& m : recording.memory.devices)
    mode.devices.push_back({.device = m.device, .rows = rows_of(recording, m.device)});
  mode.recording = recording;
  return comparison;
}

constexpr const char* kCost =
    "Two observers watched the step, which costs a few percent of its time.";

}  // namespace

std::string page(const Comparison& comparison) {
  return document(
      comparison,
      comparison.model + " on " + comparison.data,
      head(comparison) + kContents,
      {overview, memory_at_peak, memory_over_time, timeline, time_by_phase, traffic, losses},
      fmt::format(
          "The peaks and times in the pictures are of one step after the {} timed steps. {}",
          comparison.steps,
          kCost));
}

std::string memory_page(const Recording& recording) {
  return document(only(recording), "memory", "", {memory_at_peak, memory_over_time}, kCost);
}

std::string time_page(const Recording& recording) {
  return document(only(recording), "time", "", {timeline, time_by_phase, traffic}, kCost);
}

std::string embedded(const std::string& page) {
  return fmt::format(
      "<iframe srcdoc=\"{}\" title=\"tandem\" style=\"width:100%;height:40em;border:0\"></iframe>",
      escape(page));
}

}  // namespace tandem::report
