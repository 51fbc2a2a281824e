// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The GPU of the rank that gets a result makes it: its side stream reads the sources where they
// are. In an all-reduce each rank makes its share and writes it to all. GPUs that do not reach each
// other get copies of their share of the sources first, and give copies of the result. Steps of an
// algorithm follow each other by events.

#include "comm/gpu_engine.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"

#include "comm/recorded.hpp"
#include "comm/staged.hpp"
#include "comm/star.hpp"
#include "core/even_share.hpp"
#include "kernels/gpu_kernels.hpp"
#include "runtime/gpu/gpu_backend.hpp"
#include "runtime/gpu/stream_times.hpp"

namespace tandem::comm {
namespace {

/// Elements [begin, end) of a piece, made by one rank: it is the target that it is made on.
class RankWork {
 public:
  /// @param target  in the piece's list: the rank.
  RankWork(
      const GpuLinks& links, const char* what, const Piece& piece, std::size_t target, Share range)
      : links_(links),
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
    staged_.push_back(std::make_unique<Staged>(links_.device(rank_), nbytes()));
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
    copy(piece_.sources.front(), owner, own_, rank_);
    return true;
  }
  /// Makes the range from all sources, here and on the targets that the GPU reaches.
  void make(const std::vector<std::size_t>& targets) {
    std::vector<void*> to;
    for (const std::size_t i : targets)
      if (reaches(piece_.target_ranks[i])) to.push_back(piece_.targets[i]);
    const Stream& stream = links_.side_stream(rank_);
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
  bool reaches(int rank) const { return links_.reaches(rank_, rank); }
  std::size_t nbytes() const {
    return static_cast<std::size_t>(range_.size()) * itemsize(piece_.dtype);
  }
  std::size_t offset() const {
    return static_cast<std::size_t>(range_.begin) * itemsize(piece_.dtype);
  }
  void copy(const void* from, int from_rank, void* to, int to_rank) const {
    links_.copy(static_cast<const char*>(from) + offset(),
                from_rank,
                static_cast<char*>(to) + offset(),
                to_rank,
                nbytes());
  }

  const GpuLinks& links_;
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
void queue_shares(const GpuLinks& links, const char* what, const Piece& piece) {
  std::vector<std::size_t> all(piece.targets.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<std::pair<std::size_t, RankWork>> works;
  for (const std::size_t i : all) {
    const Share share = even_share(
        piece.count, static_cast<std::int64_t>(i), static_cast<std::int64_t>(all.size()));
    if (share.begin < share.end) works.emplace_back(i, RankWork(links, what, piece, i, share));
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

void queue_piece(const GpuLinks& links, const char* what, const Piece& piece) {
  if (piece.count == 0) return;
  if (piece.sources.size() > 1 && piece.targets.size() > 1) return queue_shares(links, what, piece);
  for (std::size_t i = 0; i < piece.targets.size(); ++i) {
    const bool in_place = piece.sources.size() == 1 && piece.sources[0] == piece.targets[i];
    if (in_place && piece.op != ReduceOp::premul_sum && piece.divisor == 1) continue;
    RankWork work(links, what, piece, i, {0, piece.count});
    if (work.take()) continue;
    for (std::size_t source = 0; source < piece.sources.size(); ++source)
      work.fetch(source);
    work.make({i});
  }
}

/// The side stream of the first of `ranks` waits for `events`, and the others' for it: two waits a
/// rank, where each one's wait for each event would be as many as there are ranks.
void wait_for_all(const GpuLinks& links,
                  const std::vector<int>& ranks,
                  const QueuedWork::Events& events,
                  const char* what) {
  if (events.empty()) return;
  Stream& first = links.side_stream(ranks.front());
  for (const auto& event : events)
    event->wait(first, what);
  const auto all = ranks.size() > 1 ? recorded(first) : nullptr;
  for (const int r : ranks)
    if (r != ranks.front()) all->wait(links.side_stream(r), what);
}

/// The work so far of the ranks' side streams but for the first rank's, whose own order is enough.
QueuedWork::Events others(const GpuLinks& links, const std::vector<int>& ranks) {
  QueuedWork::Events events;
  for (const int r : ranks)
    if (r != ranks.front()) events.push_back(recorded(links.side_stream(r)));
  return events;
}

/// Between two steps of an algorithm: a side stream goes on after the work of all so far.
void join(const GpuLinks& links, const std::vector<int>& ranks, const char* what) {
  wait_for_all(links, ranks, others(links, ranks), what);
}

/// Pieces that follow each other, of one collective and one step.
std::vector<std::span<const Piece>> by_collective(const CollectivePlan& plan) {
  std::vector<std::span<const Piece>> runs;
  const auto belong_together = [](const Piece& a, const Piece& b) {
    return a.collective == b.collective && a.step == b.step;
  };
  for (auto first = plan.pieces.begin(); first != plan.pieces.end();) {
    const auto last = std::ranges::find_if_not(
        first, plan.pieces.end(), [&](const Piece& p) { return belong_together(*first, p); });
    runs.emplace_back(first, last);
    first = last;
  }
  return runs;
}

/// After it the ranks' side streams have done their work so far.
std::shared_ptr<const Event> end_of_all(const GpuLinks& links,
                                        const std::vector<int>& ranks,
                                        const char* what) {
  Stream& first = links.side_stream(ranks.front());
  for (const auto& event : others(links, ranks))
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

/// Each side stream waits for what its own rank has ready. That is enough where ranks are apart:
/// only copies touch two ranks' memory, and they wait for both.
void wait_for_own(const GpuLinks& links, const Operation& op, const char* what) {
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    if (op.parts[i].ready == nullptr) continue;
    const int rank = op.message ? (i == 0 ? op.source.load() : op.message->to)
                                : static_cast<int>(i) % links.size();
    op.parts[i].ready->wait(links.side_stream(rank), what);
  }
}

/// When the ranks' side streams do an operation, for observers.
class SideTimes {
 public:
  SideTimes(const GpuLinks& links, const std::vector<int>& ranks)
      : links_(links),
        ranks_(ranks),
        timed_(streams_are_timed()),
        own_(timed_ ? static_cast<std::size_t>(links.size()) : 0) {}

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
      const auto point = point_of(links_.side_stream(r));
      (own_[static_cast<std::size_t>(r)].*points).push_back(point);
      (all_.*points).push_back(point);
    }
  }

  const GpuLinks& links_;
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
    links_.side_stream(r).native()->drain();
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
  const bool are_apart = links_.are_apart(ranks);
  const QueuedWork::Events ready = ready_events(op);
  if (are_apart)
    wait_for_own(links_, op, what);
  else
    wait_for_all(links_, ranks, ready, what);
  SideTimes times(links_, ranks);
  times.begin();
  int step = 0;
  std::vector<const Piece*> taken;  // by the transport, of this step
  bool is_handed_over = false, is_copied = false;
  const auto hand_over = [&] {
    if (taken.empty()) return;
    is_handed_over = true;
    transport_->queue(taken);
    taken.clear();
  };
  for (const std::span<const Piece> pieces : by_collective(op.plan)) {
    if (pieces.front().step != step) {
      hand_over();
      if (!are_apart) join(links_, ranks, what);
    }
    step = pieces.front().step;
    if (transport_ == nullptr && are_apart && !op.message &&
        Star::takes(op.signatures[pieces.front().collective], pieces)) {
      op.plan.traffic.resize(op.signatures.size());
      op.plan.traffic[pieces.front().collective] = Star(links_, ranks.front()).queue(what, pieces);
      continue;
    }
    for (const Piece& piece : pieces) {
      if (transport_ != nullptr && step == 0 && transport_->takes(piece)) {
        taken.push_back(&piece);
      } else {
        is_copied = true;
        queue_piece(links_, what, piece);
      }
    }
  }
  hand_over();
  if (is_handed_over) op.times.carrier = is_copied ? "NCCL and copies" : "NCCL";
  times.end(op);
  op.ended = end_of_all(links_, ranks, what);
  if (is_handed_over) transport_->note(ready, op.ended);
}

}  // namespace tandem::comm
