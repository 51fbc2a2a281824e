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

}  // namespace

std::string page(const Comparison& comparison) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>tandem: {} on {}</title>\n<style>{}{}</style></head><body>\n",
      escape(comparison.model),
      escape(comparison.data),
      kStyle,
      colours_css());
  html += head(comparison) + kContents + "<main>\n";
  for (const auto part :
       {overview, memory_at_peak, memory_over_time, timeline, time_by_phase, traffic, losses})
    html += part(comparison);
  html += fmt::format(
      "</main><footer><p>Written by tandem {} on {:%Y-%m-%d}. The peaks and times in the pictures "
      "are of one step after the {} timed steps. Two observers watched it, which costs a few "
      "percent of its time.</p></footer>\n"
      "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{}</script></body></html>\n",
      version,
      fmt::gmtime(std::time(nullptr)),
      comparison.steps,
      kScript);
  return html;
}

}  // namespace tandem::report
