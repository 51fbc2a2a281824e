// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "report/flight_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "profile/trace_events.hpp"
#include "report/flight.hpp"

namespace tandem::report {
namespace {

using comm::FlightMoment;

/// Nanoseconds would overflow for later ones, which only a file that makes no sense has.
profile::Duration shown(FlightMoment moment) {
  return std::min(moment, FlightMoment(std::int64_t{1} << 53));
}

/// The last moment of which something is known.
FlightMoment end_of(const comm::FlightRun& run) {
  FlightMoment end{0};
  for (const comm::FlightGroup& group : run.groups) {
    for (const comm::FlightFailure& f : group.failures)
      end = std::max(end, f.at);
    for (const comm::FlightCollective& c : group.collectives)
      for (const comm::FlightArrival& a : c.arrivals)
        end = std::max({end, a.came, a.ended.value_or(a.came)});
  }
  return end;
}

void add_collective(profile::TraceEvents& trace,
                    int process,
                    const comm::FlightCollective& c,
                    FlightMoment end) {
  for (const comm::FlightArrival& a : c.arrivals) {
    const FlightMoment last = std::max(a.came, a.ended.value_or(end));
    nlohmann::json args{{"number", c.number},
                        {"generation", c.generation},
                        {"dtype", a.call.dtype},
                        {"elements", a.elements},
                        {"state", a.state}};
    if (!c.missing.empty()) args["missing"] = c.missing;
    if (c.difference) args["differs"] = c.difference->field;
    trace.span(process, a.rank, a.call.kind, a.state, shown(a.came), shown(last), std::move(args));
    const FlightMoment met = std::clamp(a.met.value_or(last), a.came, last);
    if (met > a.came) trace.span(process, a.rank, "waits", "wait", shown(a.came), shown(met));
  }
}

}  // namespace

std::string flight_trace(const comm::FlightRun& run) {
  profile::TraceEvents trace;
  const FlightMoment end = end_of(run);
  int process = 0;
  for (const comm::FlightGroup& group : run.groups) {
    trace.name("process_name", ++process, 0, "group " + group.name);
    for (int rank = 0; rank < static_cast<int>(group.ranks.size()); ++rank)
      trace.name("thread_name", process, rank, rank_name(run, group, rank));
    for (const comm::FlightCollective& c : group.collectives)
      add_collective(trace, process, c, end);
  }
  return std::move(trace).text();
}

}  // namespace tandem::report
