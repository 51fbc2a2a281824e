// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The GPU of the rank that gets a result makes it: its side stream reads the sources where they
// are. In an all-reduce each rank makes its share and writes it to all. GPUs that do not reach each
// other get copies of their share of the sources first, and give copies of the result. Steps of an
// algorithm follow each other by events.

#include "comm/gpu_engine.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"

#include "comm/recorded.hpp"
#include "comm/staged.hpp"
#include "core/even_share.hpp"
#include "kernels/gpu_kernels.hpp"
#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/stream_times.hpp"

namespace tandem::comm {
namespace {

Stream& side_stream(const RankTable& table, int rank) {
  return logical_device(table.device(rank)).side_stream();
}

/// Says once that data goes through the host.
void tell_of_far_gpus(int gpu, int other) {
  static std::atomic_flag told;
  if (told.test_and_set()) return;
  std::fprintf(stderr,
               "tandem: GPUs %d and %d do not reach each other's memory, so collectives copy "
               "through the host; %s\n",
               gpu,
               other,
               has_nccl ? "backend nccl may be faster" : "a build with NCCL may be faster");
}

/// Elements [begin, end) of a piece, made by one rank: it is the target that it is made on.
class RankWork {
 public:
  /// @param target  in the piece's list: the rank.
  RankWork(
      const RankTable& table, const char* what, const Piece& piece, std::size_t target, Share range)
      : table_(table),
        what_(what),
        piece_(piece),
        rank_(piece.target_ranks[target]),
        own_(piece.targets[target]),
        range_(range),
        from_(piece.sources) {}

  /// Copies a source that the rank's GPU does not reach to it.
  void fetch(std::size_t source) {
    const int owner = piece_.source_ranks[source];
    if (reaches(owner)) return;
    tell_if_far(owner);
    staged_.push_back(std::make_unique<Staged>(logical_device(table_.device(rank_)), nbytes()));
    // Where element 0 is, or would be.
    char* const here = static_cast<char*>(staged_.back()->data()) - offset();
    copy(from_[source], owner, here, rank_);
    from_[source] = here;
  }
  /// Copies the one source right to the target, if the rank's GPU does not reach it and it is taken
  /// as it is. @return  whether it has done so
  bool take() const {
    const bool is_as_it_is = piece_.sources.size() == 1 && piece_.op != ReduceOp::premul_sum;
    if (!is_as_it_is || piece_.divisor != 1 || reaches(piece_.source_ranks.front())) return false;
    const int owner = piece_.source_ranks.front();
    tell_if_far(owner);
    copy(piece_.sources.front(), owner, own_, rank_);
    return true;
  }
  /// Makes the range from all sources, here and on the targets that the GPU reaches.
  void make(const std::vector<std::size_t>& targets) {
    std::vector<void*> to;
    for (const std::size_t i : targets)
      if (reaches(piece_.target_ranks[i])) to.push_back(piece_.targets[i]);
    const Stream& stream = side(rank_);
    kernels::GpuKernels& gpu = kernels::gpu_kernels();
    if (piece_.divisor != 1) {
      gpu.divide(stream, piece_.dtype, to.front(), piece_.divisor, range_.begin, range_.end);
    } else {
      gpu.sum_ranks(stream,
                    reduction_of(piece_.op),
                    piece_.dtype,
                    from_,
                    to,
                    range_.begin,
                    range_.end,
                    piece_.factors);
    }
    gpu_backend().check_launch(what_);
  }
  /// Copies the range to a target that the GPU does not reach.
  void send(std::size_t target) const {
    const int owner = piece_.target_ranks[target];
    if (!reaches(owner)) copy(own_, rank_, piece_.targets[target], owner);
  }

 private:
  Stream& side(int rank) const { return side_stream(table_, rank); }
  int gpu_of(int rank) const { return logical_device(table_.device(rank)).gpu()->ordinal(); }
  bool reaches(int rank) const { return gpu_backend().peers(gpu_of(rank_), gpu_of(rank)); }
  void tell_if_far(int owner) const {
    if (side(rank_).native()->cuda() != nullptr) tell_of_far_gpus(gpu_of(owner), gpu_of(rank_));
  }
  std::size_t nbytes() const {
    return static_cast<std::size_t>(range_.size()) * itemsize(piece_.dtype);
  }
  std::size_t offset() const {
    return static_cast<std::size_t>(range_.begin) * itemsize(piece_.dtype);
  }
  void copy(const void* from, int from_rank, void* to, int to_rank) const {
    gpu_backend().copy_between(side(from_rank),
                               static_cast<const char*>(from) + offset(),
                               side(to_rank),
                               static_cast<char*>(to) + offset(),
                               nbytes());
  }

  const RankTable& table_;
  const char* what_;  // of the collective
  const Piece& piece_;
  int rank_;
  void* own_;  // the rank's target
  Share range_;
  std::vector<const void*> from_;  // the sources, or what was fetched of them
  std::vector<std::unique_ptr<Staged>> staged_;
};

/// Each target makes a share of the piece for all. What goes through the host does so in rounds in
/// which every GPU sends and receives once: all shares are made before the first one is sent.
void queue_shares(const RankTable& table, const char* what, const Piece& piece) {
  std::vector<std::size_t> all(piece.targets.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::pair<std::size_t, RankWork>> works;
  for (const std::size_t i : all) {
    const Share share = even_share(
        piece.count, static_cast<std::int64_t>(i), static_cast<std::int64_t>(all.size()));
    if (share.begin < share.end) works.emplace_back(i, RankWork(table, what, piece, i, share));
  }
  for (std::size_t round = 0; round < piece.sources.size(); ++round)
    for (auto& [i, work] : works)
      work.fetch((i + round) % piece.sources.size());
  for (auto& [i, work] : works)
    work.make(all);
  for (std::size_t round = 1; round < all.size(); ++round)
    for (auto& [i, work] : works)
      work.send((i + round) % all.size());
}

void queue_piece(const RankTable& table, const char* what, const Piece& piece) {
  if (piece.count == 0) return;
  if (piece.sources.size() > 1 && piece.targets.size() > 1) return queue_shares(table, what, piece);
  for (std::size_t i = 0; i < piece.targets.size(); ++i) {
    const bool in_place = piece.sources.size() == 1 && piece.sources[0] == piece.targets[i];
    if (in_place && piece.op != ReduceOp::premul_sum && piece.divisor == 1) continue;
    RankWork work(table, what, piece, i, {0, piece.count});
    if (work.take()) continue;
    for (std::size_t source = 0; source < piece.sources.size(); ++source)
      work.fetch(source);
    work.make({i});
  }
}

/// The side stream of the first of `ranks` waits for `events`, and the others' for it: two waits a
/// rank, where each one's wait for each event would be as many as there are ranks.
void wait_for_all(const RankTable& table,
                  const std::vector<int>& ranks,
                  const QueuedWork::Events& events,
                  const char* what) {
  if (events.empty()) return;
  Stream& first = side_stream(table, ranks.front());
  for (const auto& event : events)
    event->wait(first, what);
  const auto all = ranks.size() > 1 ? recorded(first) : nullptr;
  for (const int r : ranks)
    if (r != ranks.front()) all->wait(side_stream(table, r), what);
}

/// The work so far of the ranks' side streams but for the first rank's, whose own order is enough.
QueuedWork::Events others(const RankTable& table, const std::vector<int>& ranks) {
  QueuedWork::Events events;
  for (const int r : ranks)
    if (r != ranks.front()) events.push_back(recorded(side_stream(table, r)));
  return events;
}

/// Between two steps of an algorithm: a side stream goes on after the work of all so far.
void join(const RankTable& table, const std::vector<int>& ranks, const char* what) {
  wait_for_all(table, ranks, others(table, ranks), what);
}

/// After it the ranks' side streams have done their work so far.
std::shared_ptr<const Event> end_of_all(const RankTable& table,
                                        const std::vector<int>& ranks,
                                        const char* what) {
  Stream& first = side_stream(table, ranks.front());
  for (const auto& event : others(table, ranks))
    event->wait(first, what);
  return recorded(first);
}

/// What an operation's work waits for.
QueuedWork::Events ready_events(const Operation& op) {
  QueuedWork::Events events;
  for (const Part& part : op.parts)
    if (part.ready != nullptr) events.push_back(part.ready);
  return events;
}

/// When the ranks' side streams do an operation, for observers.
class SideTimes {
 public:
  SideTimes(const RankTable& table, const std::vector<int>& ranks)
      : table_(table),
        ranks_(ranks),
        timed_(streams_are_timed()),
        own_(timed_ ? static_cast<std::size_t>(table.size()) : 0) {}

  void begin() { add(&StreamTimes::begin); }
  void end(Operation& op) {
    add(&StreamTimes::end);
    if (!timed_) return;
    for (const StreamTimes& times : own_)
      op.side_times.push_back(std::make_shared<const StreamTimes>(times));
    op.times.streams = std::make_shared<const StreamTimes>(std::move(all_));
  }

 private:
  using Points = std::vector<std::shared_ptr<const StreamPoint>>;
  void add(Points StreamTimes::*points) {
    if (!timed_) return;
    for (const int r : ranks_) {
      const auto point = point_of(side_stream(table_, r));
      (own_[static_cast<std::size_t>(r)].*points).push_back(point);
      (all_.*points).push_back(point);
    }
  }

  const RankTable& table_;
  const std::vector<int>& ranks_;
  bool timed_;
  std::vector<StreamTimes> own_;  // by rank
  StreamTimes all_;
};

}  // namespace

void GpuEngine::abort(const Failure& /*why*/) noexcept {
  if (transport_ != nullptr) transport_->abort();
}

void GpuEngine::begin(const std::shared_ptr<Operation>& op) {
  try {
    const std::scoped_lock one(queueing_);
    std::optional<SharedTransport::Turn> turn;
    if (transport_ != nullptr) turn.emplace(*transport_);
    queue(*op);
  } catch (...) {
    drain();
    throw;
  }
  op->finish();
}

void GpuEngine::drain() noexcept {
  for (int r = 0; r < ranks_.size(); ++r) {
    side_stream(ranks_, r).native()->drain();
  }
}

std::shared_ptr<Engine> GpuEngine::split(const std::vector<int>& ranks, std::int64_t) const {
  RankTable table = ranks_.split(ranks);
  auto transport = transport_ == nullptr ? nullptr : transport_->make(table.devices_here());
  return std::make_shared<GpuEngine>(std::move(table), std::move(transport));
}

void GpuEngine::queue(Operation& op) {
  const char* const what = name(op.signatures.front().kind);
  std::vector<int> ranks;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (op.takes_part(r)) ranks.push_back(r);
  }
  const QueuedWork::Events ready = ready_events(op);
  wait_for_all(ranks_, ranks, ready, what);
  SideTimes times(ranks_, ranks);
  times.begin();
  int step = 0;
  std::vector<const Piece*> taken;  // by the transport, of this step
  bool is_handed_over = false;
  const auto hand_over = [&] {
    if (taken.empty()) return;
    is_handed_over = true;
    transport_->queue(taken);
    taken.clear();
  };
  for (const Piece& piece : op.plan.pieces) {
    if (piece.step != step) {
      hand_over();
      join(ranks_, ranks, what);
    }
    step = piece.step;
    if (transport_ != nullptr && step == 0 && transport_->takes(piece))
      taken.push_back(&piece);
    else
      queue_piece(ranks_, what, piece);
  }
  hand_over();
  times.end(op);
  op.ended = end_of_all(ranks_, ranks, what);
  if (is_handed_over) transport_->note(ready, op.ended);
}

}  // namespace tandem::comm
