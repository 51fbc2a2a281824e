// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/report/page.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "tandem/config.hpp"
#include "tandem/runtime/runtime.hpp"

#include "cli/report/colours.hpp"
#include "cli/report/html.hpp"
#include "cli/report/loss_picture.hpp"
#include "cli/report/memory_pictures.hpp"
#include "cli/report/mode_figures.hpp"
#include "cli/report/overview.hpp"
#include "cli/report/style.hpp"
#include "cli/report/time_pictures.hpp"

namespace tandem::cli::report {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::vector<std::string> modes_of(const Comparison& comparison) {
  std::vector<std::string> modes;
  for (const ModeResult& mode : comparison.modes)
    modes.push_back(mode.mode);
  return modes;
}

std::string devices_of(const Comparison& comparison) {
  const ModeResult* widest = &comparison.modes.front();
  for (const ModeResult& mode : comparison.modes)
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
  const RunOptions& o = comparison.options;
  return fmt::format(
      "<header><h1>{} on {}</h1>\n"
      "<p>{} steps of {} rows by {} in {}, seed {}, in the modes {}; on {}, a machine of {} "
      "cores.</p></header>\n",
      escape(o.model.name),
      escape(o.data.name),
      comparison.steps,
      o.batch.full_batch(),
      escape(o.optimizer.name),
      escape(o.numbers.dtype),
      o.numbers.first_seed(),
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
  const RunOptions& o = comparison.options;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>tandem: {} on {}</title>\n<style>{}{}</style></head><body>\n",
      escape(o.model.name),
      escape(o.data.name),
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

}  // namespace tandem::cli::report
