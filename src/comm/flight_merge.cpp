// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/flight_merge.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "comm/flight_recorder.hpp"

namespace tandem::comm {
namespace {

using Place = std::pair<std::int64_t, std::int64_t>;  // generation and number

/// What the record of a rank's process says of it.
struct Reached {
  bool is_known = false;
  Place last = {-1, 0};  ///< its last collective, if it has one
};

/// The latest record of each process.
std::map<int, const FlightFile*> latest(const std::vector<const FlightFile*>& files) {
  std::map<int, const FlightFile*> found;
  for (const FlightFile* file : files) {
    const FlightFile*& known = found[file->process];
    if (known == nullptr || known->steady < file->steady) known = file;
  }
  return found;
}

/// "" or the first field that differs, with both values.
std::optional<FlightDifference> difference(const FlightArrival& a, const FlightArrival& b) {
  const auto differ = [&](const char* field, std::string x, std::string y) {
    return FlightDifference{field, a.rank, std::move(x), b.rank, std::move(y)};
  };
  const FlightCall &x = a.call, &y = b.call;
  if (x.collectives != y.collectives)
    return differ("number of coalesced collectives",
                  std::to_string(x.collectives),
                  std::to_string(y.collectives));
  if (x.kind != y.kind) return differ("operation", x.kind, y.kind);
  if (x.dtype != y.dtype) return differ("dtype", x.dtype, y.dtype);
  if (x.count != y.count) return differ("count", std::to_string(x.count), std::to_string(y.count));
  if (x.op != y.op) return differ("reduction", x.op, y.op);
  if (x.root != y.root) return differ("root", std::to_string(x.root), std::to_string(y.root));
  if (x.algorithm != y.algorithm) return differ("algorithm", x.algorithm, y.algorithm);
  return std::nullopt;
}

class Merger {
 public:
  explicit Merger(const std::vector<const FlightFile*>& files)
      : reached_(files.front()->members.size()) {
    group_.name = files.front()->group;
    group_.ranks = files.front()->members;
    for (const FlightFile* file : files)
      if (file->failure) group_.failures.push_back({file->process, file->steady, *file->failure});
    std::ranges::stable_sort(group_.failures, {}, &FlightFailure::at);
    const auto of_processes = latest(files);
    std::set<int> silent;
    for (const FlightRank& rank : group_.ranks)
      if (!of_processes.contains(rank.process)) silent.insert(rank.process);
    group_.silent.assign(silent.begin(), silent.end());
    for (const auto& [process, file] : of_processes)
      for (const FlightFile::Rank& rank : file->ranks)
        add(rank);
  }

  FlightGroup merge() && {
    while (collectives_.size() > FlightRecorder::kEntries)
      collectives_.erase(collectives_.begin());
    for (auto& [place, collective] : collectives_) {
      complete(place, collective);
      const std::size_t index = group_.collectives.size();
      if (collective.difference && !group_.first_difference) group_.first_difference = index;
      const bool lacks = !collective.missing.empty() || !collective.unknown.empty();
      if (lacks && !collective.is_complete && !group_.first_missing) group_.first_missing = index;
      group_.collectives.push_back(std::move(collective));
    }
    std::ranges::stable_sort(group_.messages, {}, [](const auto& m) { return m.arrival.came; });
    return std::move(group_);
  }

 private:
  void add(const FlightFile::Rank& rank) {
    Reached& reached = reached_[static_cast<std::size_t>(rank.rank)];
    reached.is_known = true;
    for (const FlightFile::Operation& op : rank.operations) {
      if (op.number == 0) {
        if (op.arrival.state != name(FlightRecorder::State::completed))
          group_.messages.push_back({op.arrival, op.tag});
        continue;
      }
      const Place place{op.generation, op.number};
      reached.last = std::max(reached.last, place);
      FlightCollective& collective = collectives_[place];
      std::tie(collective.generation, collective.number) = place;
      const bool is_new =
          collective.arrivals.empty() || collective.arrivals.back().rank != rank.rank;
      if (is_new) collective.arrivals.push_back(op.arrival);
    }
  }

  /// Says what follows from all arrivals.
  void complete(const Place& place, FlightCollective& c) const {
    std::ranges::sort(c.arrivals, {}, &FlightArrival::rank);
    for (const FlightArrival& arrival : c.arrivals) {
      if (!c.difference) c.difference = difference(c.arrivals.front(), arrival);
      c.is_complete |= arrival.state == name(FlightRecorder::State::completed);
    }
    auto arrival = c.arrivals.begin();
    for (int rank = 0; rank < static_cast<int>(reached_.size()); ++rank) {
      if (arrival != c.arrivals.end() && arrival->rank == rank) {
        ++arrival;
        continue;
      }
      const Reached& reached = reached_[static_cast<std::size_t>(rank)];
      const bool is_missing = reached.is_known && reached.last < place && !c.is_complete;
      (is_missing ? c.missing : c.unknown).push_back(rank);
    }
    std::ranges::stable_sort(c.arrivals, {}, &FlightArrival::came);
  }

  std::vector<Reached> reached_;  // by rank
  std::map<Place, FlightCollective> collectives_;
  FlightGroup group_;
};

}  // namespace

FlightGroup merge_flight_group(const std::vector<const FlightFile*>& files) {
  return Merger(files).merge();
}

}  // namespace tandem::comm
