// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "profile/trace_events.hpp"

#include <chrono>
#include <utility>

namespace tandem::profile {
namespace {

double in_microseconds(Duration t) {
  return std::chrono::duration<double, std::micro>(t).count();
}

}  // namespace

void TraceEvents::name(const char* what, int process, int track, const std::string& text) {
  events_.push_back(
      {{"ph", "M"}, {"name", what}, {"pid", process}, {"tid", track}, {"args", {{"name", text}}}});
}

void TraceEvents::span(int process,
                       int track,
                       std::string_view name,
                       std::string_view category,
                       Duration begin,
                       Duration end,
                       nlohmann::json args) {
  events_.push_back({{"ph", "X"},
                     {"name", name},
                     {"cat", category},
                     {"pid", process},
                     {"tid", track},
                     {"ts", in_microseconds(begin)},
                     {"dur", in_microseconds(end - begin)},
                     {"args", std::move(args)}});
}

void TraceEvents::counter(int process, const char* name, Duration at, nlohmann::json values) {
  events_.push_back({{"ph", "C"},
                     {"name", name},
                     {"pid", process},
                     {"ts", in_microseconds(at)},
                     {"args", std::move(values)}});
}

std::string TraceEvents::text() && {
  return nlohmann::json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump();
}

}  // namespace tandem::profile
