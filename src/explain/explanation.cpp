// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/explain/explanation.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"

#include "explain/sentences.hpp"
#include "explain/simulated_json.hpp"

namespace tandem::parallel {
namespace {

using Json = nlohmann::json;
using profile::Duration;

double ms(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string decimals(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Columns as wide as their widest cell; the first to the left, the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += row[0] + std::string(widths[0] - row[0].size(), ' ');
    for (std::size_t c = 1; c < row.size(); ++c)
      text += "  " + padded(row[c], widths[c]);
    text += '\n';
  }
  return text;
}

std::string name_of(const profile::Link& link) {
  return tandem::detail::concat(link.source, " -> ", link.destination);
}

std::size_t total(const Explanation& e) {
  std::size_t sum = 0;
  for (const auto& [link, traffic] : e.links)
    sum += traffic.nbytes;
  return sum;
}

std::string headline(const Explanation& e) {
  std::set<Device> devices;
  std::int64_t rows = 0;
  bool known = e.devices.empty();  // a wrapper that is not tandem's does not tell its rows
  std::string shares;
  for (const ExplainedDevice& d : e.devices) {
    devices.insert(d.device);
    known |= d.rows.end >= 0;
    const std::int64_t own = d.rows.end < 0 ? 0 : d.rows.size();
    rows += own;
    shares += (shares.empty() ? "" : ", ") + std::to_string(own);
  }
  return tandem::detail::concat(
      known ? tandem::detail::concat(rows, " rows on ") : "On ",
      devices.empty() ? "no device" : list(devices),
      known && devices.size() > 1 ? tandem::detail::concat(" (", shares, ")") : "",
      ": ",
      decimals(ms(e.duration), 2),
      " ms, ",
      format_nbytes(total(e)),
      " between devices\n");
}

std::string link_table(const Explanation& e) {
  std::vector<int> categories;
  for (int c = 0; c < kCategories; ++c) {
    const auto used = [c](const auto& entry) {
      return entry.second.by_category[static_cast<std::size_t>(c)] > 0;
    };
    if (std::ranges::any_of(e.links, used)) categories.push_back(c);
  }
  std::vector<std::vector<std::string>> rows{{"bytes by link"}};
  for (const int c : categories)
    rows[0].emplace_back(name(static_cast<Category>(c)));
  rows[0].insert(rows[0].end(), {"all", "ms"});
  for (const auto& [link, traffic] : e.links) {
    std::vector<std::string> row{name_of(link)};
    for (const int c : categories)
      row.push_back(std::to_string(traffic.by_category[static_cast<std::size_t>(c)]));
    row.push_back(std::to_string(traffic.nbytes));
    row.push_back(decimals(ms(traffic.time), 2));
    rows.push_back(std::move(row));
  }
  return table(rows);
}

std::vector<int> phases_of(const Explanation& e) {
  std::vector<int> phases;
  for (int p = 0; p < kPhases; ++p) {
    const auto used = [p](const ExplainedDevice& d) {
      return d.time[static_cast<std::size_t>(p)] > Duration{};
    };
    if (std::ranges::any_of(e.devices, used)) phases.push_back(p);
  }
  return phases;
}

std::string time_table(const Explanation& e) {
  const std::vector<int> phases = phases_of(e);
  std::vector<std::vector<std::string>> rows{{"ms by device"}};
  for (const int p : phases) {
    const auto phase = static_cast<Phase>(p);
    rows[0].emplace_back(phase == Phase::none ? "other" : name(phase));
  }
  rows[0].insert(rows[0].end(), {"collectives", "waiting"});
  for (const ExplainedDevice& d : e.devices) {
    std::vector<std::string> row{to_string(d.device)};
    for (const int p : phases)
      row.push_back(decimals(ms(d.time[static_cast<std::size_t>(p)]), 2));
    row.push_back(decimals(ms(d.in_collectives - d.waiting), 2));
    row.push_back(decimals(ms(d.waiting), 2));
    rows.push_back(std::move(row));
  }
  return table(rows);
}

Json to_json(const ExplainedStep& step, std::size_t number) {
  Json devices = Json::array(), links = Json::array();
  for (const DeviceShare& d : step.devices) {
    devices.push_back({{"device", to_string(d.device)},
                       {"works", d.works},
                       {"ms", ms(d.time)},
                       {"collective_calls", d.calls},
                       {"collectives_ms", ms(d.in_calls)}});
  }
  for (const LinkShare& l : step.links) {
    links.push_back({{"source", to_string(l.link.source)},
                     {"destination", to_string(l.link.destination)},
                     {"bytes", l.nbytes},
                     {"transfers", l.transfers},
                     {"ms", ms(l.time)}});
  }
  return {{"number", number},
          {"title", step.title},
          {"sentence", step.sentence},
          {"phase", name(step.phase)},
          {"traffic", step.traffic ? Json(name(*step.traffic)) : Json()},
          {"begin_ms", ms(step.begin)},
          {"end_ms", ms(step.end)},
          {"devices", devices},
          {"links", links},
          {"carriers", step.carriers}};
}

Json to_json(const ExplainedDevice& d) {
  Json phases = Json::object();
  for (int p = 0; p < kPhases; ++p) {
    const Duration time = d.time[static_cast<std::size_t>(p)];
    if (time > Duration{}) phases[name(static_cast<Phase>(p))] = ms(time);
  }
  return {{"name", to_string(d.device)},
          {"rows", d.rows.end < 0 ? 0 : d.rows.size()},
          {"ms_by_phase", phases},
          {"collectives_ms", ms(d.in_collectives - d.waiting)},
          {"waiting_ms", ms(d.waiting)}};
}

}  // namespace

std::string Explanation::text() const {
  std::string text = headline(*this);
  if (simulated) text += "(" + profile::describe(*simulated) + ")\n";
  if (!complete) text += "(incomplete: the host had no memory to record the whole step)\n";
  text += "\n       at ms  took ms\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const ExplainedStep& step = steps[i];
    text += padded(std::to_string(i + 1), 3) + ". " + padded(decimals(ms(step.begin), 2), 7) +
            "  " + padded(decimals(ms(step.end - step.begin), 2), 7) + "  " + step.title + ": " +
            step.sentence + ".\n";
  }
  if (!links.empty()) {
    text.append("\n").append(link_table(*this));
    text += tandem::detail::concat("overlap: bytes were under way for ",
                                   decimals(ms(overlap.transferring), 2),
                                   " ms, and a device computed during ",
                                   decimals(100 * overlap.share(), 0),
                                   " % of that time\n");
  }
  if (!devices.empty()) text.append("\n").append(time_table(*this));
  return text;
}

std::string Explanation::json() const {
  Json step_list = Json::array(), device_list = Json::array(), link_list = Json::array();
  for (const ExplainedStep& step : steps)
    step_list.push_back(to_json(step, step_list.size() + 1));
  for (const ExplainedDevice& d : devices)
    device_list.push_back(to_json(d));
  for (const auto& [link, traffic] : links) {
    Json categories = Json::object();
    for (std::size_t c = 0; c < traffic.by_category.size(); ++c) {
      if (traffic.by_category[c] > 0)
        categories[name(static_cast<Category>(c))] = traffic.by_category[c];
    }
    link_list.push_back({{"source", to_string(link.source)},
                         {"destination", to_string(link.destination)},
                         {"bytes", traffic.nbytes},
                         {"bytes_by_category", categories},
                         {"transfers", traffic.transfers},
                         {"ms", ms(traffic.time)}});
  }
  return Json{{"schema_version", 1},
              {"ms", ms(duration)},
              {"transferring_ms", ms(overlap.transferring)},
              {"overlap", overlap.share()},
              {"complete", complete},
              {"simulated", simulated_json(simulated)},
              {"steps", step_list},
              {"devices", device_list},
              {"links", link_list}}
      .dump(2);
}

}  // namespace tandem::parallel
