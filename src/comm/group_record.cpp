// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/group_record.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "tandem/core/check.hpp"

#include "comm/flight_file.hpp"

namespace tandem::comm {
namespace {

using Json = nlohmann::json;
using tandem::detail::concat;
using Moment = FlightRecorder::Moment;

/// Null for a moment that has not come.
Json microseconds_since(Moment moment, Moment origin) {
  if (moment == Moment{}) return {};
  return std::chrono::duration_cast<std::chrono::microseconds>(moment - origin).count();
}

Json to_json(const FlightRecorder::Entry& e, Moment origin) {
  const Signature& s = e.signature;
  const Algorithm* const algorithm = algorithm_of(s);
  return {{"number", e.number},
          {"generation", e.generation},
          {"kind", name(s.kind)},
          {"dtype", name(s.dtype)},
          {"count", e.count},
          {"common_count", s.count},
          {"op", name(s.op)},
          {"root", s.root},
          {"algorithm", algorithm == nullptr ? "direct" : algorithm->name()},
          {"tag", e.tag},
          {"collectives", e.collectives},
          {"state", name(e.state)},
          {"start_us", microseconds_since(e.start, origin)},
          {"met_us", microseconds_since(e.met, origin)},
          {"end_us", microseconds_since(e.end, origin)}};
}

/// Whose the record is, and what its moments are counted from.
Json header(const RecordOrigin& from, Moment origin) {
  using Wall = std::chrono::system_clock;
  const auto since_epoch = [](auto moment) {
    return std::chrono::duration_cast<std::chrono::microseconds>(moment.time_since_epoch()).count();
  };
  Json processes = Json::array();
  for (const world::Peer& p : from.processes)
    processes.push_back({{"host", p.host}, {"pid", p.pid}});
  const auto now = std::chrono::steady_clock::now();
  return {{"format", FlightFile::kFormat},
          {"version", FlightFile::kVersion},
          {"run", from.run.empty() ? Json() : Json(from.run)},
          {"process", from.process},
          {"processes", std::move(processes)},
          {"clock",
           {{"origin_us", since_epoch(origin)},
            {"steady_us", since_epoch(now)},
            {"wall_us", since_epoch(Wall::now())},
            {"offset_us", from.clock ? Json(from.clock->offset.count()) : Json()},
            {"error_us", from.clock ? Json(from.clock->error.count()) : Json()}}}};
}

/// A name for a group of this process alone, which no other one of its groups has.
std::string own_name() {
  static std::atomic<int> groups{0};
  return concat("local-", groups.fetch_add(1));
}

}  // namespace

GroupRecord::GroupRecord(const RankTable& ranks, const GroupOptions& options, std::string group)
    : ranks_(ranks),
      folder_(options.dump_folder),
      from_(options.world),
      group_(group.empty() ? own_name() : std::move(group)),
      origin_(std::chrono::steady_clock::now()),
      recorders_(static_cast<std::size_t>(ranks.size())) {}

void GroupRecord::note_start(const Operation& op,
                             int rank,
                             const Signature& first,
                             std::size_t collectives,
                             const Part& part) noexcept {
  recorder(rank).start({.key = &op,
                        .number = op.number,
                        .generation = op.generation,
                        .signature = first,
                        .collectives = collectives,
                        .count = part.input != nullptr ? part.input_count : part.output_count,
                        .tag = op.message ? op.message->tag : 0});
}

void GroupRecord::note_end(const Operation& op, int rank) noexcept {
  using State = FlightRecorder::State;
  if (op.state.load(std::memory_order_acquire) == Operation::State::complete)
    recorder(rank).finish(&op, State::completed, op.times.begin, op.times.end);
  else
    recorder(rank).finish(&op, State::failed, {}, std::chrono::steady_clock::now());
}

std::string GroupRecord::json(const Failure* failure) const {
  Json ranks = Json::array();
  for (const int r : ranks_.here()) {
    Json operations = Json::array();
    for (const FlightRecorder::Entry& e : recorders_[static_cast<std::size_t>(r)].entries())
      operations.push_back(to_json(e, origin_));
    ranks.push_back({{"rank", r},
                     {"device", to_string(ranks_.device(r))},
                     {"operations", std::move(operations)}});
  }
  Json members = Json::array();
  for (int r = 0; r < ranks_.size(); ++r)
    members.push_back({{"device", to_string(ranks_.device(r))}, {"process", ranks_.process(r)}});
  Json whole = header(from_, origin_);
  whole["group"] = group_;
  whole["members"] = std::move(members);
  whole["failure"] = failure == nullptr ? Json() : Json(failure->text);
  whole["ranks"] = std::move(ranks);
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// If it cannot be written, the group still fails by its own error.
void GroupRecord::write(const Failure* failure) const noexcept {
  static std::atomic<int> files{0};
  if (folder_.empty()) return;
  try {
    const std::filesystem::path folder(folder_);
    std::filesystem::create_directories(folder);
    const std::string text = json(failure);
    const auto pid = from_.processes[static_cast<std::size_t>(from_.process)].pid;
    std::FILE* file = nullptr;
    do {  // a process of another host, or of an earlier run, may have the name
      const std::string name =
          concat("tandem_comm_", from_.process, '_', pid, '_', files.fetch_add(1), ".json");
      file = std::fopen((folder / name).c_str(), "wxe");
    } while (file == nullptr && errno == EEXIST);
    if (file == nullptr) return;
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  } catch (const std::exception&) {
  }
}

}  // namespace tandem::comm
