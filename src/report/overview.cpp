// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/overview.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "report/fastest.hpp"
#include "report/html.hpp"
#include "report/mode_figures.hpp"

namespace tandem::report {
namespace {

using profile::DeviceMemory;
using profile::Link;

/// Bytes of a step from each device to each.
std::map<Link, std::size_t> bytes_by_link(const Mode& mode) {
  std::map<Link, std::size_t> bytes;
  for (const auto& [link, traffic] : mode.recording.time.links)
    bytes[link] = traffic.nbytes / static_cast<std::size_t>(mode.recording.steps);
  return bytes;
}

std::size_t sum(const std::map<Link, std::size_t>& bytes) {
  return std::accumulate(
      bytes.begin(), bytes.end(), std::size_t{0}, [](std::size_t total, const auto& link) {
        return total + link.second;
      });
}

/// " By NCCL between GPUs: Reduce (gradient)." Nothing where there are no GPUs.
std::string carriers(const Comparison& comparison) {
  std::map<std::string, std::string> steps;
  for (const Mode& mode : comparison.modes)
    for (const parallel::ExplainedStep& step : mode.recording.time.steps)
      for (const std::string& carrier : step.carriers) {
        std::string& own = steps[carrier];
        const std::string text = step.title + " (" + name(*step.traffic) + ")";
        if (own.find(text) == std::string::npos) own += (own.empty() ? "" : ", ") + text;
      }
  std::string text;
  for (const auto& [carrier, own] : steps)
    text += fmt::format(" By {} between GPUs: {}.", carrier, own);
  return text;
}

std::size_t memory_of_all(const Mode& mode) {
  std::size_t total = 0;
  for (const DeviceMemory& m : mode.recording.memory.devices)
    total += m.peak;
  return total;
}

/// Bars of one figure of each mode.
template <class Value, class Text>
std::string bars(const Comparison& comparison,
                 const std::string& title,
                 const Value& value,
                 const Text& text) {
  double most = 0;
  for (const Mode& mode : comparison.modes)
    most = std::max(most, value(mode));
  std::string html = "<div><h3>" + escape(title) + "</h3>\n";
  for (const Mode& mode : comparison.modes) {
    Picture bar(kBarHeight, mode.mode + ": " + text(mode));
    bar.rect(0,
             0,
             most > 0 ? 1000 * value(mode) / most : 0,
             kBarHeight,
             "figure",
             mode.mode + ": " + text(mode));
    html += row(mode.mode, bar, text(mode));
  }
  return html + "</div>\n";
}

std::string overview_sentence(const Comparison& comparison) {
  const auto small = std::ranges::min_element(comparison.modes, {}, largest_peak);
  std::string weights = describe_weights(comparison);
  weights.front() = 'W';
  std::string text = fmt::format(
      "Each mode trains the same model from the same weights on the same batches. {} The mode that "
      "needs the least memory on its fullest device is {} with {}. {}.",
      fastest_sentence(comparison),
      small->mode,
      format_nbytes(largest_peak(*small)),
      weights);
  for (const Peer& peer : comparison.peers)
    text += fmt::format(" {} takes {:.2f} ms (p50); its weights differ by {:.1e}.",
                        peer.name,
                        peer.p50,
                        peer.difference.value);
  for (const Mode& mode : comparison.modes)
    if (!mode.recording.is_complete())
      text += fmt::format(" The record of {} is incomplete: its times and bytes cover only a part.",
                          mode.mode);
  return text;
}

std::vector<std::string> figures(const Mode& mode, const Mode& first) {
  const auto& memory = mode.recording.memory;
  const profile::Overlap& overlap = mode.recording.time.overlap;
  return {
      mode.mode,
      fmt::format("{:.2f}", mode.p50),
      fmt::format("{:.2f}", mode.p90),
      format_nbytes(memory.devices.front().peak),
      format_nbytes(memory_of_all(mode)),
      memory.devices.size() > 1 ? fmt::format("{:.2f}", memory.imbalance()) : "-",
      format_nbytes(sum(bytes_by_link(mode))),
      overlap.transferring > profile::Duration{} ? fmt::format("{:.0f} %", 100 * overlap.share())
                                                 : "-",
      &mode == &first || mode.losses.empty() ? "-" : fmt::format("{:.1e}", mode.difference.value),
      mode.test ? mode.test->text : "-"};
}

/// Rows send, columns receive; the darker, the more.
std::string matrix(const Mode& mode, std::size_t most) {
  const std::map<Link, std::size_t> bytes = bytes_by_link(mode);
  const std::size_t n = shown(mode);
  std::string html = fmt::format(
      "<div><h3>{}</h3>\n<div class=\"wide\"><table class=\"matrix\"><thead><tr><th "
      "scope=\"col\">from \\ to</th>",
      mode.mode);
  for (std::size_t to = 0; to < n; ++to)
    html += fmt::format("<th scope=\"col\">{}</th>", to_string(mode.devices[to].device));
  html += "</tr></thead><tbody>\n";
  for (std::size_t from = 0; from < n; ++from) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", to_string(mode.devices[from].device));
    for (std::size_t to = 0; to < n; ++to) {
      const auto at = bytes.find({mode.devices[from].device, mode.devices[to].device});
      if (at == bytes.end() || at->second == 0) {
        html += "<td>-</td>";
        continue;
      }
      const double share = static_cast<double>(at->second) / static_cast<double>(most);
      html += fmt::format(
          "<td style=\"--share:{}%\">{}</td>", number(60 * share), format_nbytes(at->second));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div></div>\n";
}

}  // namespace

std::string overview(const Comparison& comparison) {
  std::string body = "<figure class=\"side\">";
  body += bars(
      comparison,
      "Milliseconds of a step, p50",
      [](const Mode& m) { return m.p50; },
      [](const Mode& m) { return fmt::format("{:.2f}", m.p50); });
  body += bars(
      comparison,
      "Peak of the fullest device",
      [](const Mode& m) { return static_cast<double>(largest_peak(m)); },
      [](const Mode& m) { return format_nbytes(largest_peak(m)); });
  body += bars(
      comparison,
      "Memory of all devices",
      [](const Mode& m) { return static_cast<double>(memory_of_all(m)); },
      [](const Mode& m) { return format_nbytes(memory_of_all(m)); });
  body += bars(
      comparison,
      "Bytes between devices, a step",
      [](const Mode& m) { return static_cast<double>(sum(bytes_by_link(m))); },
      [](const Mode& m) { return format_nbytes(sum(bytes_by_link(m))); });
  Table table({"mode",
               "ms p50",
               "ms p90",
               "peak of the first",
               "of all",
               "imbalance",
               "bytes a step",
               "overlap",
               "difference",
               "after it"});
  for (const Mode& mode : comparison.modes)
    table.row(figures(mode, comparison.modes.front()));
  return section("modes",
                 "The modes side by side",
                 overview_sentence(comparison),
                 body + "</figure>\n" + table.html());
}

std::string traffic(const Comparison& comparison) {
  std::size_t most = 1;
  const Mode* of_most = nullptr;
  Link busiest{};
  std::string body = "<figure class=\"side\">";
  for (const Mode& mode : comparison.modes)
    for (const auto& [link, bytes] : bytes_by_link(mode))
      if (bytes > most) {
        most = bytes;
        of_most = &mode;
        busiest = link;
      }
  std::string says = "There is one device, so no bytes go between devices.";
  if (of_most != nullptr) {
    says = fmt::format(
        "Bytes that go in a step from the device of the row to the device of the column. The "
        "busiest link is {} to {} in {}, with {}.",
        to_string(busiest.source),
        to_string(busiest.destination),
        of_most->mode,
        format_nbytes(most));
    says += carriers(comparison);
  }
  for (const Mode& mode : comparison.modes)
    if (mode.devices.size() > 1) body += matrix(mode, most);
  return section("traffic", "Bytes by link", says, body + "</figure>\n");
}

}  // namespace tandem::report
