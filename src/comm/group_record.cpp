// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/group_record.hpp"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

using Json = nlohmann::json;
using Moment = FlightRecorder::Moment;

/// Null for a moment that has not come.
Json microseconds(Moment moment, Moment origin) {
  if (moment == Moment{}) return {};
  return std::chrono::duration_cast<std::chrono::microseconds>(moment - origin).count();
}

Json to_json(const FlightRecorder::Entry& e, Moment origin) {
  const Signature& s = e.signature;
  return {{"number", e.number},
          {"kind", name(s.kind)},
          {"dtype", name(s.dtype)},
          {"count", e.count},
          {"op", name(s.op)},
          {"root", s.root},
          {"tag", e.tag},
          {"collectives", e.collectives},
          {"state", name(e.state)},
          {"start_us", microseconds(e.start, origin)},
          {"met_us", microseconds(e.met, origin)},
          {"end_us", microseconds(e.end, origin)}};
}

}  // namespace

GroupRecord::GroupRecord(const RankTable& ranks, std::string folder)
    : ranks_(ranks),
      folder_(std::move(folder)),
      origin_(std::chrono::steady_clock::now()),
      recorders_(static_cast<std::size_t>(ranks.size())) {}

void GroupRecord::note_start(const Operation& op,
                             int rank,
                             const Signature& first,
                             std::size_t collectives,
                             const Part& part) noexcept {
  recorder(rank).start({.key = &op,
                        .number = op.number,
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
  const Json whole{{"failure", failure == nullptr ? Json() : Json(failure->text)},
                   {"ranks", std::move(ranks)}};
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

// A failure to write is no reason to fail otherwise than the group does already.
void GroupRecord::write(const Failure* failure) const noexcept {
  static std::atomic<int> files{0};
  if (folder_.empty()) return;
  try {
    const std::filesystem::path folder(folder_);
    std::filesystem::create_directories(folder);
    const std::string name =
        detail::concat("tandem_comm_", ::getpid(), '_', files.fetch_add(1), ".json");
    std::ofstream(folder / name) << json(failure);
  } catch (const std::exception&) {
  }
}

}  // namespace tandem::comm
