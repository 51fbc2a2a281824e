// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/trace.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

namespace tandem::profile {
namespace {

using Json = nlohmann::json;

double microseconds(Since t) {
  return std::chrono::duration<double, std::micro>(t).count();
}

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return parts;
}

class Trace {
 public:
  /// The name of a process, or of a track.
  void name(const char* what, int process, int track, const std::string& text) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process},
                       {"tid", track},
                       {"args", {{"name", text}}}});
  }
  void span(int process,
            int track,
            std::string_view name,
            std::string_view category,
            Since begin,
            Since end,
            Json args = Json::object()) {
    events_.push_back({{"ph", "X"},
                       {"name", name},
                       {"cat", category},
                       {"pid", process},
                       {"tid", track},
                       {"ts", microseconds(begin)},
                       {"dur", microseconds(end - begin)},
                       {"args", std::move(args)}});
  }
  std::string text() && {
    return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump();
  }

 private:
  Json events_ = Json::array();
};

/// A thread's work on a device, which comes in the order of its beginning.
class Track {
 public:
  Track(Trace& trace, int process, int track) : trace_(trace), process_(process), track_(track) {}

  void add(const WorkSpan& w) {
    if (w.begin >= busy_until_) {  // not within other work
      if (phase_.name == nullptr || w.phase != phase_.phase || w.rows != rows_) {
        close();
        open_phase(w);
      }
      enter(w);
      busy_until_ = w.end;
    }
    Json args = Json::object();
    if (w.module_path != nullptr) args["module"] = *w.module_path;
    if (w.category) args["writes"] = tandem::name(*w.category);
    trace_.span(process_, track_, w.name, tandem::name(w.phase), w.begin, w.end, std::move(args));
  }
  /// Ends what is open.
  void close() {
    leave(0);
    if (phase_.name == nullptr) return;
    Json args = Json::object();
    if (rows_.end >= 0) args = {{"first_row", rows_.begin}, {"rows", rows_.end - rows_.begin}};
    trace_.span(process_, track_, phase_.name, "phase", phase_.begin, busy_until_, std::move(args));
    phase_ = {};
  }

 private:
  struct OpenPhase {
    const char* name = nullptr;
    Phase phase{};
    Since begin{};
  };

  void open_phase(const WorkSpan& w) {
    phase_ = {w.phase == Phase::none ? "other" : tandem::name(w.phase), w.phase, w.begin};
    rows_ = w.rows;
  }
  /// Ends the modules that the work is not in, and begins those that it is.
  void enter(const WorkSpan& w) {
    std::string_view path;
    if (w.module_path != nullptr) path = *w.module_path;
    const auto parts = parts_of(path);
    std::size_t same = 0;
    while (same < std::min(parts.size(), modules_.size()) && modules_[same].first == parts[same])
      ++same;
    leave(same);
    for (; same < parts.size(); ++same)
      modules_.emplace_back(parts[same], w.begin);
  }
  void leave(std::size_t depth) {
    for (; modules_.size() > depth; modules_.pop_back()) {
      const auto& [name, begin] = modules_.back();
      trace_.span(process_, track_, name, "module", begin, busy_until_);
    }
  }

  Trace& trace_;
  int process_, track_;
  OpenPhase phase_;
  RowRange rows_;
  std::vector<std::pair<std::string, Since>> modules_;  // open ones, from the outermost on
  Since busy_until_{};
};

/// @return  the number of processes.
int add_devices(Trace& trace, const StepRecord& record) {
  std::map<Device, int> processes;  // from 1, in the order of the devices
  std::vector<const WorkSpan*> ordered;
  for (const WorkSpan& w : record.work) {
    ordered.push_back(&w);
    processes[w.device] = 0;
  }
  int count = 0;
  for (auto& [device, process] : processes) {
    process = ++count;
    trace.name("process_name", process, 0, to_string(device));
  }
  std::ranges::stable_sort(
      ordered, {}, [](const WorkSpan* w) { return std::tuple(w->begin, -w->end); });
  std::map<std::pair<Device, int>, Track> tracks;
  for (const WorkSpan* w : ordered) {
    const int process = processes[w->device];
    const auto [track, is_new] =
        tracks.try_emplace({w->device, w->thread}, trace, process, w->thread);
    if (is_new)
      trace.name("thread_name", process, w->thread, "thread " + std::to_string(w->thread));
    track->second.add(*w);
  }
  for (auto& [key, track] : tracks)
    track.close();
  return count;
}

void add_links(Trace& trace, const StepRecord& record, int process) {
  std::vector<const Transfer*> ordered;
  for (const Transfer& t : record.transfers)
    ordered.push_back(&t);
  std::ranges::stable_sort(ordered, {}, &Transfer::begin);
  struct Lane {
    int track;
    Since end;
  };
  std::map<Link, std::vector<Lane>> links;
  int tracks = 0;
  if (!ordered.empty()) trace.name("process_name", process, 0, "links");
  for (const Transfer* t : ordered) {
    auto& lanes = links[{t->source, t->destination}];
    auto lane = std::ranges::find_if(lanes, [&](const Lane& l) { return l.end <= t->begin; });
    if (lane == lanes.end()) {
      lane = lanes.insert(lanes.end(), {++tracks, {}});
      trace.name("thread_name",
                 process,
                 lane->track,
                 to_string(t->source) + " -> " + to_string(t->destination));
    }
    lane->end = t->end;
    trace.span(process,
               lane->track,
               tandem::name(t->category),
               tandem::name(t->phase),
               t->begin,
               t->end,
               {{"bytes", t->nbytes}});
  }
}

}  // namespace

std::string trace_json(const StepRecord& record) {
  Trace trace;
  const int devices = add_devices(trace, record);
  add_links(trace, record, devices + 1);
  return std::move(trace).text();
}

}  // namespace tandem::profile
