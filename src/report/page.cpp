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

/// The mode with the most devices.
const Mode& widest_mode(const Comparison& comparison) {
  return *std::ranges::max_element(
      comparison.modes, {}, [](const Mode& mode) { return mode.devices.size(); });
}

std::string devices_of(const Comparison& comparison) {
  const Mode* widest = &widest_mode(comparison);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < shown(*widest); ++i)
    names.push_back(to_string(widest->devices[i].device));
  std::string text = joined(names);
  if (widest->devices.size() > kShownDevices)
    text += fmt::format(" and {} more, which are not drawn (--json has all)",
                        widest->devices.size() - kShownDevices);
  return text;
}

std::string counted(std::size_t n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

/// How many devices of the host share its cores. Nothing of a machine that is simulated: those of
/// this machine have no part in it.
std::string cores_of(const Comparison& comparison) {
  if (!comparison.simulated.empty()) return "";
  const std::size_t devices = std::ranges::count_if(
      widest_mode(comparison).devices,
      [](const DeviceFigures& d) { return d.device.type == DeviceType::cpu; });
  if (devices == 0) return "";
  return fmt::format(", {} that {} {}",
                     counted(devices, "device"),
                     devices == 1 ? "has" : "share",
                     counted(static_cast<std::size_t>(core_count()), "core"));
}

/// Says whose times these are, if they were not measured.
std::string sentence_on_times(const Comparison& comparison) {
  if (comparison.simulated.empty()) return "";
  return fmt::format(" <strong>All times are {}.</strong>", escape(comparison.simulated));
}

std::string head(const Comparison& comparison) {
  return fmt::format(
      "<header><h1>{} on {}</h1>\n"
      "<p>{} steps of {} rows by {} in {}{}, in the modes {}; on {}{}.{}</p></header>\n",
      escape(comparison.model),
      escape(comparison.data),
      comparison.steps,
      comparison.batch,
      escape(comparison.optimizer),
      escape(comparison.dtype),
      comparison.seed ? fmt::format(", seed {}", *comparison.seed) : "",
      escape(joined(modes_of(comparison))),
      escape(devices_of(comparison)),
      cores_of(comparison),
      sentence_on_times(comparison));
}

/// A section with pictures.
struct Section {
  const char* id;
  const char* name;
  std::string (*draw)(const Comparison&);
};

constexpr Section kModes{"modes", "Modes", overview};
constexpr Section kMemory{"memory", "Memory", memory_at_peak};
constexpr Section kMemoryOverTime{"memory-over-time", "Memory through a step", memory_over_time};
constexpr Section kTimeline{"timeline", "Timeline", timeline};
constexpr Section kTimeByPhase{"phases", "Phases", time_by_phase};
constexpr Section kTraffic{"traffic", "Traffic", traffic};
constexpr Section kLoss{"loss", "Loss", losses};

/// A whole file.
struct Document {
  Comparison comparison;
  std::string title;
  std::string head;  ///< above the sections, and above links to them; empty: neither is there
  std::vector<Section> sections;
  std::string foot;  ///< sentences below them
};

std::string links_to(const std::vector<Section>& sections) {
  std::string links;
  for (const Section& section : sections)
    links += fmt::format("<a href=\"#{}\">{}</a>", section.id, section.name);
  return "<nav>" + links + "</nav>\n";
}

std::string html_of(const Document& document) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>tandem: {}</title>\n<style>{}{}</style></head><body>\n",
      escape(document.title),
      kStyle,
      colours_css());
  if (!document.head.empty()) html += document.head + links_to(document.sections);
  html += "<main>\n";
  for (const Section& section : document.sections)
    html += section.draw(document.comparison);
  html += fmt::format(
      "</main><footer><p>Written by tandem {} on {:%Y-%m-%d}. {}</p></footer>\n"
      "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>{}</script></body></html>\n",
      version,
      fmt::gmtime(std::time(nullptr)),
      document.foot,
      kScript);
  return html;
}

/// The page within another one: neither's style reaches the other.
std::string framed(const std::string& page) {
  std::string text = "<iframe title=\"tandem\" style=\"width:100%;height:40em;border:0\" srcdoc='";
  for (const char c : page) {  // the quotes within are of the other kind, and stay as they are
    if (c == '&')
      text += "&amp;";
    else if (c == '\'')
      text += "&#39;";
    else
      text += c;
  }
  return text + "'></iframe>";
}

/// Without the largest pictures, if it would be too large with them.
std::string embedded(Document document) {
  std::string html = framed(html_of(document));
  std::string left_out;
  for (const Section& section : {kTimeline, kMemoryOverTime, kMemory, kTimeByPhase, kModes}) {
    if (html.size() <= kMostEmbeddedBytes) break;
    if (std::erase_if(document.sections,
                      [&](const Section& s) { return s.draw == section.draw; }) == 0)
      continue;
    left_out += (left_out.empty() ? "" : ", ") + std::string(section.name);
    Document smaller = document;
    smaller.foot += " Left out, to keep a notebook small: " + left_out + ". html() has all.";
    html = framed(html_of(smaller));
  }
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

Document of_modes(const Comparison& comparison) {
  std::vector<Section> sections{
      kModes, kMemory, kMemoryOverTime, kTimeline, kTimeByPhase, kTraffic, kLoss};
  if (!has_losses(comparison)) sections.pop_back();
  return {comparison,
          comparison.model + " on " + comparison.data,
          head(comparison),
          std::move(sections),
          fmt::format(
              "The peaks and times in the pictures are of one step after the {} timed steps. {}",
              comparison.steps,
              comparison.simulated.empty() ? kCost : "No GPU was used.")};
}

Document of_memory(const Recording& recording) {
  return {only(recording), "memory", "", {kMemory, kMemoryOverTime}, kCost};
}

Document of_time(const Recording& recording) {
  return {only(recording), "time", "", {kTimeline, kTimeByPhase, kTraffic}, kCost};
}

}  // namespace

std::string page(const Comparison& comparison) {
  return html_of(of_modes(comparison));
}

std::string memory_page(const Recording& recording) {
  return html_of(of_memory(recording));
}

std::string time_page(const Recording& recording) {
  return html_of(of_time(recording));
}

std::string embedded_page(const Comparison& comparison) {
  return embedded(of_modes(comparison));
}

std::string embedded_memory_page(const Recording& recording) {
  return embedded(of_memory(recording));
}

std::string embedded_time_page(const Recording& recording) {
  return embedded(of_time(recording));
}

}  // namespace tandem::report
