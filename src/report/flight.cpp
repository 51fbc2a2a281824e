// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/flight.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace tandem::report {
namespace {

using comm::FlightArrival;
using comm::FlightCollective;
using comm::FlightGroup;
using comm::FlightRun;
using FlightTime = std::chrono::microseconds;
using Json = nlohmann::json;

constexpr std::size_t kRows = 10;    // of a group's table
constexpr std::size_t kNamed = 8;    // ranks in a line
constexpr std::size_t kReasons = 4;  // processes whose failures are told

double milliseconds(FlightTime t) {
  return std::chrono::duration<double, std::milli>(t).count();
}

std::string utc(FlightTime since_1970) {
  const auto seconds = static_cast<std::time_t>(since_1970.count() / 1'000'000);
  std::tm parts{};
  char text[64] = {};
  if (::gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return "an unknown time";
  return text;
}

std::string counted(std::size_t n, const char* one, const char* more) {
  return fmt::format("{} {}", n, n == 1 ? one : more);
}

std::string process_name(const FlightRun& run, int process) {
  const comm::FlightProcess& p = run.processes[static_cast<std::size_t>(process)];
  return fmt::format("process {} on {}, pid {}", process, p.host, p.pid);
}

/// The first of some values as `show` shows them, and how many more there are.
template <class Values, class Show>
std::string listed(const Values& values, const Show& show) {
  std::string text;
  std::size_t n = 0;
  for (const auto& value : values) {
    if (n == kNamed) return text + fmt::format(" and {} more", values.size() - n);
    text += (n++ == 0 ? "" : ", ") + show(value);
  }
  return text;
}

std::string names(const FlightRun& run, const FlightGroup& group, const std::vector<int>& ranks) {
  return listed(ranks, [&](int rank) { return rank_name(run, group, rank); });
}

bool is_in_trouble(const FlightGroup& group) {
  return group.first_difference || group.first_missing || !group.failures.empty() ||
         !group.silent.empty();
}

std::string difference_line(const FlightRun& run, const FlightGroup& group) {
  const FlightCollective& c = group.collectives[*group.first_difference];
  const comm::FlightDifference& d = *c.difference;
  return fmt::format("  ranks differ first in {}: {}: {} has {}, {} has {}\n",
                     title(c),
                     d.field,
                     rank_name(run, group, d.rank),
                     d.value,
                     rank_name(run, group, d.other),
                     d.other_value);
}

std::string missing_lines(const FlightRun& run, const FlightGroup& group) {
  const FlightCollective& c = group.collectives[*group.first_missing];
  std::string text =
      fmt::format("  ranks are missing first in {}, to which {} came first, at {:.3f} ms\n",
                  title(c),
                  rank_name(run, group, c.arrivals.front().rank),
                  milliseconds(c.arrivals.front().came));
  if (!c.missing.empty()) text += fmt::format("    not there: {}\n", names(run, group, c.missing));
  if (!c.unknown.empty()) text += fmt::format("    not known: {}\n", names(run, group, c.unknown));
  return text;
}

std::string failure_lines(const FlightRun& run, const FlightGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < group.failures.size(); ++i) {
    if (i == kReasons)
      return text + fmt::format("  and {} more failures\n", group.failures.size() - i);
    const comm::FlightFailure& f = group.failures[i];
    text += fmt::format(
        "  at {:.3f} ms {} said: {}\n", milliseconds(f.at), process_name(run, f.process), f.text);
  }
  return text;
}

std::string message_lines(const FlightRun& run, const FlightGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < group.messages.size(); ++i) {
    if (i == kNamed)
      return text + fmt::format("  and {} more messages\n", group.messages.size() - i);
    const comm::FlightMessage& m = group.messages[i];
    const bool is_any = m.arrival.call.root < 0;
    text += fmt::format("  a message has not arrived: {} in {} {} {} with tag {} since {:.3f} ms\n",
                        rank_name(run, group, m.arrival.rank),
                        m.arrival.call.kind,
                        m.arrival.call.kind == "send" ? "to" : "from",
                        is_any ? "any rank" : rank_name(run, group, m.arrival.call.root),
                        m.tag,
                        milliseconds(m.arrival.came));
  }
  return text;
}

/// "0 +0.000, 3 +1.250": ranks, and the milliseconds after the first.
std::string arrivals(const FlightCollective& c) {
  return listed(c.arrivals, [&](const FlightArrival& a) {
    return fmt::format("{} +{:.3f}", a.rank, milliseconds(a.came - c.arrivals.front().came));
  });
}

std::string state_of(const FlightCollective& c) {
  if (c.is_complete) return "completed";
  return c.arrivals.front().state;
}

std::string table(const FlightGroup& group) {
  std::string text = fmt::format("  {:>8} {:<15} {:<6} {:>12} {:<8} {:<10} {}\n",
                                 "number",
                                 "operation",
                                 "dtype",
                                 "elements",
                                 "op",
                                 "state",
                                 "who came, and ms after the first");
  const std::size_t all = group.collectives.size();
  for (std::size_t i = all - std::min(all, kRows); i < all; ++i) {
    const FlightCollective& c = group.collectives[i];
    const comm::FlightCall& call = c.arrivals.front().call;
    const auto number = [](int rank) { return std::to_string(rank); };
    text += fmt::format("  {:>8} {:<15} {:<6} {:>12} {:<8} {:<10} {}",
                        c.number,
                        call.kind,
                        call.dtype,
                        c.arrivals.front().elements,
                        call.kind.find("reduce") == std::string::npos ? "" : call.op,
                        state_of(c),
                        arrivals(c));
    if (!c.missing.empty()) text += "; not there: " + listed(c.missing, number);
    if (!c.unknown.empty())
      text += (c.is_complete ? "; not recorded: " : "; not known: ") + listed(c.unknown, number);
    text += c.difference ? "; differs\n" : "\n";
  }
  return text;
}

std::string group_text(const FlightRun& run, const FlightGroup& group) {
  std::string text = fmt::format("\ngroup {}, ranks 0 to {}", group.name, group.ranks.size() - 1);
  if (!is_in_trouble(group))
    return text + fmt::format(": {}, nothing wrong\n",
                              counted(group.collectives.size(), "collective", "collectives"));
  text += ":\n";
  if (group.first_difference) text += difference_line(run, group);
  if (group.first_missing) text += missing_lines(run, group);
  for (const int process : group.silent)
    text +=
        fmt::format("  {} wrote no record: it was killed, or ended before it knew of a failure\n",
                    process_name(run, process));
  text += failure_lines(run, group);
  text += message_lines(run, group);
  if (!group.collectives.empty()) text += table(group);
  return text;
}

Json number_or_null(const std::optional<FlightTime>& t) {
  return t ? Json(t->count()) : Json();
}

Json arrival_json(const FlightArrival& a, FlightTime first) {
  return {{"rank", a.rank},
          {"came_us", a.came.count()},
          {"after_first_us", (a.came - first).count()},
          {"met_us", number_or_null(a.met)},
          {"ended_us", number_or_null(a.ended)},
          {"state", a.state},
          {"operation", a.call.kind},
          {"dtype", a.call.dtype},
          {"elements", a.elements},
          {"count", a.call.count},
          {"reduction", a.call.op},
          {"root", a.call.root},
          {"algorithm", a.call.algorithm},
          {"collectives", a.call.collectives}};
}

Json collective_json(const FlightCollective& c) {
  Json who = Json::array(), difference;
  for (const FlightArrival& a : c.arrivals)
    who.push_back(arrival_json(a, c.arrivals.front().came));
  if (c.difference)
    difference = {{"field", c.difference->field},
                  {"rank", c.difference->rank},
                  {"value", c.difference->value},
                  {"other_rank", c.difference->other},
                  {"other_value", c.difference->other_value}};
  return {{"generation", c.generation},
          {"number", c.number},
          {"complete", c.is_complete},
          {"arrivals", std::move(who)},
          {"missing", c.missing},
          {"unknown", c.unknown},
          {"difference", std::move(difference)}};
}

Json group_json(const FlightGroup& group) {
  Json ranks = Json::array(), collectives = Json::array(), messages = Json::array(),
       failures = Json::array();
  for (const comm::FlightRank& rank : group.ranks)
    ranks.push_back({{"device", rank.device}, {"process", rank.process}});
  for (const FlightCollective& c : group.collectives)
    collectives.push_back(collective_json(c));
  for (const comm::FlightMessage& m : group.messages) {
    messages.push_back(arrival_json(m.arrival, m.arrival.came));
    messages.back()["tag"] = m.tag;
  }
  for (const comm::FlightFailure& f : group.failures)
    failures.push_back({{"process", f.process}, {"at_us", f.at.count()}, {"text", f.text}});
  const auto index = [](const auto& i) { return i ? Json(*i) : Json(); };
  return {{"group", group.name},
          {"ranks", std::move(ranks)},
          {"processes_without_record", group.silent},
          {"first_difference", index(group.first_difference)},
          {"first_missing", index(group.first_missing)},
          {"collectives", std::move(collectives)},
          {"messages", std::move(messages)},
          {"failures", std::move(failures)}};
}

}  // namespace

std::string rank_name(const FlightRun& run, const FlightGroup& group, int rank) {
  const comm::FlightRank& r = group.ranks[static_cast<std::size_t>(rank)];
  return fmt::format("rank {} ({} of {})", rank, r.device, process_name(run, r.process));
}

std::string title(const FlightCollective& collective) {
  std::string text =
      fmt::format("{} number {}", collective.arrivals.front().call.kind, collective.number);
  if (collective.generation > 0) text += fmt::format(" after reset {}", collective.generation);
  return text;
}

std::string flight_text(const comm::Flight& flight) {
  const FlightRun& run = flight.runs.front();
  std::size_t records = 0;
  std::string clocks;
  for (std::size_t p = 0; p < run.processes.size(); ++p) {
    records += run.processes[p].files.size();
    if (!run.processes[p].files.empty() && !run.processes[p].clock_error)
      clocks += fmt::format("{} did not compare its clock: its moments are by its wall clock\n",
                            process_name(run, static_cast<int>(p)));
  }
  std::string text = fmt::format("run {} of {}: {}, {}\n",
                                 run.name,
                                 utc(run.written),
                                 counted(run.processes.size(), "process", "processes"),
                                 counted(records, "record", "records"));
  text += clocks;
  for (const FlightGroup& group : run.groups)
    text += group_text(run, group);
  if (flight.runs.size() > 1)
    text +=
        fmt::format("\nThe folder has records of {}, the last of {}; --json shows all\n",
                    flight.runs.size() == 2 ? "another run"
                                            : fmt::format("{} other runs", flight.runs.size() - 1),
                    utc(flight.runs[1].written));
  return text;
}

Json flight_json(const comm::Flight& flight) {
  Json runs = Json::array();
  for (const FlightRun& run : flight.runs) {
    Json processes = Json::array(), groups = Json::array();
    for (const comm::FlightProcess& p : run.processes)
      processes.push_back({{"host", p.host},
                           {"pid", p.pid},
                           {"records", p.files},
                           {"clock_error_us", number_or_null(p.clock_error)}});
    for (const FlightGroup& group : run.groups)
      groups.push_back(group_json(group));
    runs.push_back({{"run", run.name},
                    {"written_us", run.written.count()},
                    {"processes", std::move(processes)},
                    {"groups", std::move(groups)}});
  }
  return {{"schema_version", 1}, {"runs", std::move(runs)}, {"warnings", flight.warnings}};
}

}  // namespace tandem::report
