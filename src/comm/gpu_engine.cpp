// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The GPU of the rank that gets a result makes it: its side stream reads the sources where they
// are. In an all-reduce each rank makes its share and writes it to all. GPUs that do not reach each
// other get copies of the sources first, and give copies of the result. Steps of an algorithm
// follow each other by events.

#include "comm/gpu_engine.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"

#include "comm/staged.hpp"
#include "core/even_share.hpp"
#include "kernels/divide.hpp"
#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/driver_turn.hpp"
#include "runtime/cuda/stream_times.hpp"

namespace tandem::comm {
namespace {

/// How long work of a transport may take to end after a failure before it is taken to hang.
constexpr auto kGrace = std::chrono::seconds(2);

Stream& side_stream(const RankTable& table, int rank) {
  return logical_device(table.device(rank)).side_stream();
}

/// Elements [begin, end) of a piece, made by one rank.
class RankWork {
 public:
  RankWork(const RankTable& table, const char* what, const Piece& piece, int rank, Share range)
      : table_(table), what_(what), piece_(piece), rank_(rank), range_(range) {}

  void run(const std::vector<std::size_t>& targets) {
    std::vector<std::unique_ptr<Staged>> staged;
    std::vector<const void*> from;
    for (std::size_t i = 0; i < piece_.sources.size(); ++i)
      from.push_back(near(staged, piece_.source_ranks[i], piece_.sources[i]));
    std::vector<void*> to;
    std::vector<std::pair<std::size_t, void*>> far;
    for (const std::size_t i : targets) {
      if (reaches(piece_.target_ranks[i])) {
        to.push_back(piece_.targets[i]);
      } else {
        to.push_back(stage(staged));
        far.emplace_back(i, to.back());
      }
    }
    const CudaStream stream = detail::cuda_stream(side(rank_));
    if (piece_.divisor != 1) {
      kernels::divide(stream, piece_.dtype, to.front(), piece_.divisor, range_.begin, range_.end);
    } else {
      kernels::sum_ranks(stream,
                         reduction_of(piece_.op),
                         piece_.dtype,
                         from,
                         to,
                         range_.begin,
                         range_.end,
                         piece_.factors);
    }
    detail::check_launch({.name = what_});
    for (const auto& [i, data] : far)
      copy(data, rank_, piece_.targets[i], piece_.target_ranks[i]);
  }

 private:
  Stream& side(int rank) const { return side_stream(table_, rank); }
  bool reaches(int rank) const {
    const auto gpu = [&](int r) { return logical_device(table_.device(r)).cuda()->gpu(); };
    return cuda::peers(gpu(rank_), gpu(rank));
  }
  std::size_t nbytes() const {
    return static_cast<std::size_t>(range_.size()) * itemsize(piece_.dtype);
  }
  std::size_t offset() const {
    return static_cast<std::size_t>(range_.begin) * itemsize(piece_.dtype);
  }
  void copy(const void* from, int from_rank, void* to, int to_rank) const {
    cuda::copy_between(side(from_rank),
                       static_cast<const char*>(from) + offset(),
                       side(to_rank),
                       static_cast<char*>(to) + offset(),
                       nbytes());
  }
  /// Memory here for the range; the pointer is that of element 0, which may not be there.
  void* stage(std::vector<std::unique_ptr<Staged>>& staged) const {
    staged.push_back(std::make_unique<Staged>(logical_device(table_.device(rank_)), nbytes()));
    return static_cast<char*>(staged.back()->data()) - offset();
  }
  const void* near(std::vector<std::unique_ptr<Staged>>& staged, int rank, const void* data) const {
    if (reaches(rank)) return data;
    void* here = stage(staged);
    copy(data, rank, here, rank_);
    return here;
  }

  const RankTable& table_;
  const char* what_;  // of the collective
  const Piece& piece_;
  int rank_;
  Share range_;
};

void queue_piece(const RankTable& table, const char* what, const Piece& piece) {
  if (piece.count == 0) return;
  const std::size_t targets = piece.targets.size();
  if (piece.sources.size() > 1 && targets > 1) {  // who gets the result makes a share for all
    std::vector<std::size_t> all(targets);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (const std::size_t i : all) {
      const Share share =
          even_share(piece.count, static_cast<std::int64_t>(i), static_cast<std::int64_t>(targets));
      if (share.begin < share.end)
        RankWork(table, what, piece, piece.target_ranks[i], share).run(all);
    }
    return;
  }
  for (std::size_t i = 0; i < targets; ++i) {
    const bool in_place = piece.sources.size() == 1 && piece.sources[0] == piece.targets[i];
    if (in_place && piece.op != ReduceOp::premul_sum && piece.divisor == 1) continue;
    RankWork(table, what, piece, piece.target_ranks[i], {0, piece.count}).run({i});
  }
}

/// The work so far of the ranks' side streams.
std::vector<std::shared_ptr<const Event>> recorded(const RankTable& table,
                                                   const std::vector<int>& ranks) {
  std::vector<std::shared_ptr<const Event>> events;
  for (const int r : ranks) {
    auto event = std::make_shared<Event>();
    event->record(side_stream(table, r));
    events.push_back(std::move(event));
  }
  return events;
}

/// Between two steps of an algorithm: a side stream goes on after the work of all so far.
void join(const RankTable& table, const std::vector<int>& ranks, const char* what) {
  const auto events = recorded(table, ranks);
  for (const int r : ranks) {
    for (const auto& event : events)
      event->wait(side_stream(table, r), what);
  }
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

  void begin() { add(&cuda::StreamTimes::begin); }
  void end(Operation& op) {
    add(&cuda::StreamTimes::end);
    if (!timed_) return;
    for (const cuda::StreamTimes& times : own_)
      op.side_times.push_back(std::make_shared<const cuda::StreamTimes>(times));
    op.times.streams = std::make_shared<const cuda::StreamTimes>(std::move(all_));
  }

 private:
  using Points = std::vector<std::shared_ptr<const cuda::StreamPoint>>;
  void add(Points cuda::StreamTimes::*points) {
    if (!timed_) return;
    for (const int r : ranks_) {
      const auto point = cuda::point_of(side_stream(table_, r));
      (own_[static_cast<std::size_t>(r)].*points).push_back(point);
      (all_.*points).push_back(point);
    }
  }

  const RankTable& table_;
  const std::vector<int>& ranks_;
  bool timed_;
  std::vector<cuda::StreamTimes> own_;  // by rank
  cuda::StreamTimes all_;
};

}  // namespace

GpuEngine::~GpuEngine() {
  if (transport_ == nullptr) return;
  if (queued_.ends_within(has_failed_ ? kGrace : timeout_))
    transport_->close();
  else
    transport_->abort();
}

// Who is queueing now need not be waited for: NCCL's part in it ends by the group's timeout.
void GpuEngine::abort(const std::string& /*reason*/) noexcept {
  if (transport_ == nullptr) return;
  const std::unique_lock one(queueing_, std::try_to_lock);
  if (!one.owns_lock()) return;
  has_failed_ = true;
  if (!queued_.hangs(kGrace)) return;
  transport_->abort();
  queued_.clear();
}

void GpuEngine::begin(Operation& op) {
  try {
    const std::scoped_lock one(queueing_);
    std::optional<cuda::DriverTurn> turn;
    if (transport_ != nullptr) turn.emplace();
    queue(op);
    has_failed_ = false;
  } catch (...) {
    drain();
    throw;
  }
  op.finish();
}

void GpuEngine::drain() noexcept {
  for (int r = 0; r < ranks_.size(); ++r) {
    LogicalDevice& device = logical_device(ranks_.device(r));
    cuda::drain(*device.cuda(), device.side_stream().native());
  }
}

std::shared_ptr<Engine> GpuEngine::split(const std::vector<int>& ranks) const {
  RankTable table = ranks_.split(ranks);
  auto transport = transport_ == nullptr ? nullptr : transport_->make(table.devices());
  return std::make_shared<GpuEngine>(std::move(table), std::move(transport), timeout_);
}

void GpuEngine::queue(Operation& op) {
  const char* const what = name(op.signatures.front().kind);
  std::vector<int> ranks;
  for (int r = 0; r < ranks_.size(); ++r) {
    if (op.takes_part(r)) ranks.push_back(r);
  }
  for (const int r : ranks) {
    for (const auto& part : op.parts) {
      if (part.ready != nullptr) part.ready->wait(side_stream(ranks_, r), what);
    }
  }
  SideTimes times(ranks_, ranks);
  times.begin();
  int step = 0;
  std::vector<const Piece*> taken;  // by the transport, of this step
  bool is_handed_over = false;
  const auto hand_over = [&] {
    if (taken.empty()) return;
    is_handed_over = true;
    try {
      transport_->queue(taken);
    } catch (...) {  // it has aborted all that it had
      queued_.clear();
      throw;
    }
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
  op.ended = recorded(ranks_, ranks);
  if (is_handed_over) queued_.add(ready_events(op), op.ended);
}

}  // namespace tandem::comm
