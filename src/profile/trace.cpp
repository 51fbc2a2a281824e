// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/trace.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include <nlohmann/json.hpp>

#include "profile/trace_events.hpp"

namespace tandem::profile {
namespace {

using Json = nlohmann::json;

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    parts.push_back(path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return parts;
}

/// What a span of work, or of a side stream, is known by beside its name.
template <class Span>
Json args_of(const Span& span) {
  Json args = Json::object();
  if (span.category) args["writes"] = tandem::name(*span.category);
  if (span.bucket >= 0) args["bucket"] = span.bucket;
  return args;
}

/// When a piece of work was seen by the thread that called it, or done by the stream.
struct Times {
  Duration begin, end;
};

Times of_thread(const WorkSpan& w) {
  return {w.queued_begin, w.queued_end};
}

Times of_stream(const WorkSpan& w) {
  return {w.begin, w.end};
}

/// A thread's work on a device, or a stream's, which comes in the order of its beginning.
class Track {
 public:
  Track(TraceEvents& trace, int process, int track)
      : trace_(trace), process_(process), track_(track) {}

  void add(const WorkSpan& w, const Times& times) {
    if (times.begin >= busy_until_) {  // not within other work
      if (phase_.name == nullptr || w.phase != phase_.phase || w.rows != rows_) {
        close();
        open_phase(w, times.begin);
      }
      enter(w, times.begin);
      busy_until_ = times.end;
    }
    Json args = args_of(w);
    if (w.module_path != nullptr) args["module"] = *w.module_path;
    trace_.span(
        process_, track_, w.name, tandem::name(w.phase), times.begin, times.end, std::move(args));
  }
  /// Ends what is open.
  void close() {
    leave(0);
    if (phase_.name == nullptr) return;
    Json args = Json::object();
    if (rows_.end >= 0) args = {{"first_row", rows_.begin}, {"rows", rows_.size()}};
    trace_.span(process_, track_, phase_.name, "phase", phase_.begin, busy_until_, std::move(args));
    phase_ = {};
  }

 private:
  struct OpenPhase {
    const char* name = nullptr;
    Phase phase{};
    Duration begin{};
  };

  void open_phase(const WorkSpan& w, Duration begin) {
    phase_ = {w.phase == Phase::none ? "other" : tandem::name(w.phase), w.phase, begin};
    rows_ = w.rows;
  }
  /// Ends the modules that the work is not in, and begins those that it is.
  void enter(const WorkSpan& w, Duration begin) {
    std::string_view path;
    if (w.module_path != nullptr) path = *w.module_path;
    const auto parts = parts_of(path);
    std::size_t same = 0;
    while (same < std::min(parts.size(), modules_.size()) && modules_[same].first == parts[same])
      ++same;
    leave(same);
    for (; same < parts.size(); ++same)
      modules_.emplace_back(parts[same], begin);
  }
  void leave(std::size_t depth) {
    for (; modules_.size() > depth; modules_.pop_back()) {
      const auto& [name, begin] = modules_.back();
      trace_.span(process_, track_, name, "module", begin, busy_until_);
    }
  }

  TraceEvents& trace_;
  int process_, track_;
  OpenPhase phase_;
  RowRange rows_;
  std::vector<std::pair<std::string, Duration>> modules_;  // open ones, from the outermost on
  Duration busy_until_{};
};

/// The tracks of some work: `track_of` gives number and name of each one's.
template <class TrackOf>
void add_tracks(TraceEvents& trace,
                const std::map<Device, int>& processes,
                std::vector<const WorkSpan*> work,
                Times (*times)(const WorkSpan&),
                const TrackOf& track_of) {
  std::ranges::stable_sort(work, {}, [&](const WorkSpan* w) {
    const Times t = times(*w);
    return std::tuple(t.begin, -t.end);
  });
  std::map<std::pair<Device, int>, Track> tracks;
  for (const WorkSpan* w : work) {
    const int process = processes.at(w->device);
    const auto& [number, name] = track_of(*w);
    const auto [track, is_new] = tracks.try_emplace({w->device, number}, trace, process, number);
    if (is_new) trace.name("thread_name", process, number, name);
    track->second.add(*w, times(*w));
  }
  for (auto& [key, track] : tracks)
    track.close();
}

/// A process for each device, from 1 on.
std::map<Device, int> name_devices(TraceEvents& trace,
                                   const StepRecord& record,
                                   const MemoryProfile& memory) {
  std::map<Device, int> processes;
  for (const WorkSpan& w : record.work)
    processes[w.device] = 0;
  for (const SideSpan& s : record.side_work)
    processes[s.device] = 0;
  for (const DeviceMemory& m : memory.devices)
    processes[m.device] = 0;
  int count = 0;
  for (auto& [device, process] : processes) {
    process = ++count;
    trace.name(
        "process_name",
        process,
        0,
        to_string(device) + (record.simulated ? " (" + describe(*record.simulated) + ")" : ""));
  }
  return processes;
}

/// The devices whose work was simulated on a stream: it was done later than it was called.
std::set<Device> simulated_gpus(const StepRecord& record) {
  std::set<Device> gpus;
  if (!record.simulated) return gpus;
  for (const WorkSpan& w : record.work)
    if (w.begin != w.queued_begin) gpus.insert(w.device);
  return gpus;
}

void add_work(TraceEvents& trace,
              const std::map<Device, int>& processes,
              const StepRecord& record) {
  std::vector<const WorkSpan*> all, of_gpus;
  const std::set<Device> streams = simulated_gpus(record);
  for (const WorkSpan& w : record.work) {
    all.push_back(&w);
    if (w.device.type == DeviceType::cuda || streams.contains(w.device)) of_gpus.push_back(&w);
  }
  add_tracks(trace, processes, std::move(all), of_thread, [](const WorkSpan& w) {
    return std::pair(w.thread, "thread " + std::to_string(w.thread));
  });
  static constexpr int kStream = 1000;  // above the threads' numbers
  add_tracks(trace, processes, std::move(of_gpus), of_stream, [](const WorkSpan&) {
    return std::pair(kStream, "main stream");
  });
}

void add_memory(TraceEvents& trace,
                const std::map<Device, int>& processes,
                const MemoryProfile& memory) {
  for (const DeviceMemory& m : memory.devices) {
    CategoryBytes seen{};  // no line of zeros for a category that never was
    for (const MemoryMoment& moment : m.timeline)
      for (std::size_t c = 0; c < seen.size(); ++c)
        seen[c] = std::max(seen[c], moment.by_category[c]);
    for (const MemoryMoment& moment : m.timeline) {
      Json values = Json::object();
      for (std::size_t c = 0; c < seen.size(); ++c)
        if (seen[c] > 0) values[tandem::name(static_cast<Category>(c))] = moment.by_category[c];
      trace.counter(processes.at(m.device), "bytes", moment.at, std::move(values));
    }
  }
}

/// Tracks for spans that may overlap without one being within the other, of which none may share a
/// track.
class Lanes {
 public:
  /// The first track that is free from `begin` on: its number, from 0; it is taken until `end`.
  std::size_t take(Duration begin, Duration end) {
    auto free = std::ranges::find_if(ends_, [&](Duration until) { return until <= begin; });
    if (free == ends_.end()) free = ends_.insert(free, Duration{});
    *free = end;
    return static_cast<std::size_t>(free - ends_.begin());
  }

 private:
  std::vector<Duration> ends_;
};

template <class Span>
std::vector<const Span*> as_they_began(const std::vector<Span>& spans) {
  std::vector<const Span*> ordered;
  for (const Span& s : spans)
    ordered.push_back(&s);
  std::ranges::stable_sort(ordered, {}, &Span::begin);
  return ordered;
}

void add_side_work(TraceEvents& trace,
                   const std::map<Device, int>& processes,
                   const StepRecord& record) {
  static constexpr int kSideStream = 1001;
  std::map<Device, Lanes> devices;
  std::set<std::pair<int, int>> named;
  for (const SideSpan* s : as_they_began(record.side_work)) {
    const int process = processes.at(s->device);
    const int track = kSideStream + static_cast<int>(devices[s->device].take(s->begin, s->end));
    if (named.emplace(process, track).second)
      trace.name("thread_name", process, track, "side stream");
    trace.span(process, track, s->name, tandem::name(s->phase), s->begin, s->end, args_of(*s));
  }
}

void add_links(TraceEvents& trace, const StepRecord& record, int process) {
  std::map<Link, Lanes> links;
  std::map<std::pair<Link, std::size_t>, int> tracks;
  if (!record.transfers.empty()) trace.name("process_name", process, 0, "links");
  for (const Transfer* t : as_they_began(record.transfers)) {
    const Link link{t->source, t->destination};
    const std::size_t lane = links[link].take(t->begin, t->end);
    const int next = static_cast<int>(tracks.size()) + 1;
    const auto [track, is_new] = tracks.try_emplace({link, lane}, next);
    if (is_new) {
      trace.name("thread_name",
                 process,
                 track->second,
                 to_string(t->source) + " -> " + to_string(t->destination));
    }
    Json args = {{"bytes", t->nbytes}};
    if (t->bucket >= 0) args["bucket"] = t->bucket;
    trace.span(process,
               track->second,
               tandem::name(t->category),
               tandem::name(t->phase),
               t->begin,
               t->end,
               std::move(args));
  }
}

}  // namespace

std::string trace_json(const StepRecord& record) {
  return trace_json(record, {});
}

std::string trace_json(const StepRecord& record, const MemoryProfile& memory) {
  TraceEvents trace;
  const std::map<Device, int> processes = name_devices(trace, record, memory);
  add_work(trace, processes, record);
  add_side_work(trace, processes, record);
  add_memory(trace, processes, memory);
  add_links(trace, record, static_cast<int>(processes.size()) + 1);
  return std::move(trace).text();
}

}  // namespace tandem::profile
