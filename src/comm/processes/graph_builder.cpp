// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/graph_builder.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "comm/algorithms/list.hpp"
#include "core/even_share.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
using Task = MessageGraph::Task;
constexpr Task kNone = MessageGraph::kNone;

/// Bytes of a segment, whose reduction runs while the next one is under way.
constexpr std::int64_t kSegmentBytes = std::int64_t{512} << 10;

constexpr std::uint64_t kDataBit = std::uint64_t{1} << 63;

/// Elements [begin, end) of a piece.
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

class GraphBuilder {
 public:
  GraphBuilder(const Membership& group,
               const Channels& channels,
               bool take_back,
               const std::function<void*(std::size_t)>& room)
      : group_(group),
        channels_(channels),
        take_back_(take_back),
        room_(room),
        sent_(static_cast<std::size_t>(group.size())),
        received_(static_cast<std::size_t>(group.size())) {}

  /// A direct collective.
  void add_direct(const Piece& piece) {
    if (piece.sources.empty() || piece.targets.empty() || piece.count == 0) return;
    if (piece.sources.size() == 1) return add_copy(piece);
    const std::vector<int> targets = places(piece.target_ranks);
    if (targets.size() == 1) return add_reduction(piece, targets.front(), {0, piece.count});
    for (int place = 0; place < group_.size(); ++place) {
      const auto share = even_share(piece.count, place, group_.size());
      add_reduction(piece, place, {share.begin, share.end});
    }
  }

  /// An all-reduce, a reduce or a broadcast by the links' own, after the one before.
  void add_native(const Piece& piece, ProcessLinks::Native call) {
    const Range all{0, piece.count};
    call.tag = channels_.by_place.front();
    const void* own = nullptr;
    Task done = kNone;
    if (call.kind != ProcessLinks::Native::Kind::broadcast) {
      call.root = group_.place(piece.target_ranks.front());  // of an all-reduce nobody asks
      std::tie(own, done) = add_own_sum(piece, all);
    } else {
      call.root = group_.place(piece.source_ranks.front());
      if (call.root == group_.own) {
        add_call(call, piece.nbytes(), piece.sources.front(), nullptr, kNone);
        return add_local_copies(piece, all, piece.sources.front(), kNone);
      }
    }
    void* const target = first_target(piece, all);
    done = add_call(call, piece.nbytes(), own, target, done);
    if (target == nullptr) return;
    if (piece.op == ReduceOp::avg && piece.sources.size() > 1)
      done = add_division(piece, all, target, done);
    add_local_copies(piece, all, target, done);
  }

  /// The pieces of a named algorithm.
  void add_steps(std::span<const Piece> pieces) {
    Task gate = kNone;
    for (std::size_t i = 0; i < pieces.size();) {
      const int step = pieces[i].step;
      Step now{.before = gate, .moved = graph_.add_gate(), .after = graph_.add_gate()};
      graph_.order(gate, now.moved);
      graph_.order(now.moved, now.after);
      for (; i < pieces.size() && pieces[i].step == step; ++i)
        add_step_piece(pieces[i], now);
      gate = now.after;
    }
  }

  MessageGraph take() { return std::move(graph_); }

 private:
  /// Gates of a step: before it, when what it reads here has been sent, and after it.
  struct Step {
    Task before, moved, after;
  };

  std::vector<int> places(const std::vector<int>& ranks) const {
    std::vector<int> found;
    for (const int rank : ranks) {
      const int place = group_.place(rank);
      if (std::ranges::find(found, place) == found.end()) found.push_back(place);
    }
    std::ranges::sort(found);
    return found;
  }
  bool is_here(int rank) const { return group_.ranks.is_here(rank); }

  std::uint64_t next_tag(int sender, int receiver) {
    auto& count = sender == group_.own ? sent_[static_cast<std::size_t>(receiver)]
                                       : received_[static_cast<std::size_t>(sender)];
    return message_tag(channels_.by_place[static_cast<std::size_t>(sender)], count++);
  }

  /// @return  the task after which `data` may change
  Task send(int place, const void* data, std::size_t nbytes, Task after) {
    if (!take_back_) {
      void* const own = room_(nbytes);
      const Task copied = add_bytes(data, own, nbytes);
      graph_.order(after, copied);
      const Task sent = graph_.add_send(world(place), next_tag(group_.own, place), own, nbytes);
      graph_.order(copied, sent);
      return copied;
    }
    const Task sent = graph_.add_send(world(place), next_tag(group_.own, place), data, nbytes);
    graph_.order(after, sent);
    return sent;
  }
  /// @return  the task after which `data` is there. It may arrive at any time.
  Task receive(int place, void* data, std::size_t nbytes) {
    if (take_back_)
      return graph_.add_receive(world(place), next_tag(place, group_.own), data, nbytes);
    void* const own = room_(nbytes);
    const Task received =
        graph_.add_receive(world(place), next_tag(place, group_.own), own, nbytes);
    const Task copied = add_bytes(own, data, nbytes);
    graph_.order(received, copied);
    return copied;
  }
  /// The same into memory of the graph.
  std::pair<void*, Task> receive_aside(int place, std::size_t nbytes) {
    void* const own = room_(nbytes);
    return {own, graph_.add_receive(world(place), next_tag(place, group_.own), own, nbytes)};
  }
  int world(int place) const { return group_.processes[static_cast<std::size_t>(place)]; }

  Task add_bytes(const void* from, void* to, std::size_t nbytes) {
    Piece piece;
    piece.dtype = DType::u8;
    piece.count = static_cast<std::int64_t>(nbytes);
    piece.add_source(0, from);
    piece.add_target(0, to);
    return graph_.add_piece(std::move(piece));
  }
  /// Copies to those of the targets that are not the source.
  void add_local_copies(const Piece& of, Range range, const void* from, Task after) {
    Piece piece = empty(of, range);
    piece.add_source(0, from);
    for (std::size_t t = 0; t < of.targets.size(); ++t) {
      void* const to = element(of.targets[t], range.begin, of.dtype);
      if (is_here(of.target_ranks[t]) && to != from)
        piece.add_target(static_cast<std::size_t>(of.target_ranks[t]), to);
    }
    if (!piece.targets.empty()) graph_.order(after, graph_.add_piece(std::move(piece)));
  }
  static Piece empty(const Piece& of, Range range) {
    Piece piece;
    piece.dtype = of.dtype;
    piece.count = range.size();
    return piece;
  }
  /// The first of the targets that is here; null: none is.
  void* first_target(const Piece& piece, Range range) const {
    for (std::size_t t = 0; t < piece.targets.size(); ++t)
      if (is_here(piece.target_ranks[t]))
        return element(piece.targets[t], range.begin, piece.dtype);
    return nullptr;
  }

  /// @param own     this process's data; null: it gives none.
  /// @param target  null: it wants no result.
  /// @return  the task after which the result is there
  Task add_call(
      ProcessLinks::Native call, std::size_t nbytes, const void* own, void* target, Task ready) {
    if (!take_back_ && own != nullptr) {
      void* const aside = room_(nbytes);
      const Task copied = add_bytes(own, aside, nbytes);
      graph_.order(ready, copied);
      own = aside;
      ready = copied;
    }
    const bool is_aside = !take_back_ && target != nullptr;
    call.input = own;
    call.output = is_aside ? room_(nbytes) : target;
    if (target == nullptr && call.kind == ProcessLinks::Native::Kind::broadcast)
      call.output = const_cast<void*>(own);
    const Task done = graph_.add_native(call);
    graph_.order(ready, done);
    graph_.order(std::exchange(last_native_, done), done);
    if (!is_aside) return done;
    const Task copied = add_bytes(call.output, target, nbytes);
    graph_.order(done, copied);
    return copied;
  }

  void add_copy(const Piece& piece) {
    const Range all{0, piece.count};
    const int owner = group_.place(piece.source_ranks.front());
    const std::size_t nbytes = piece.nbytes();
    if (owner != group_.own) {
      void* const target = first_target(piece, all);
      if (target != nullptr) add_local_copies(piece, all, target, receive(owner, target, nbytes));
      return;
    }
    add_local_copies(piece, all, piece.sources.front(), kNone);
    for (const int place : places(piece.target_ranks))
      if (place != group_.own) send(place, piece.sources.front(), nbytes, kNone);
  }

  /// The owner gets the sums of the other processes, adds them up and sends the result to those
  /// that want it.
  void add_reduction(const Piece& piece, int owner, Range share) {
    const auto most = kSegmentBytes / static_cast<std::int64_t>(itemsize(piece.dtype));
    for (std::int64_t begin = share.begin; begin < share.end; begin += most) {
      const Range segment{begin, std::min(share.end, begin + most)};
      if (owner == group_.own)
        add_owned(piece, segment);
      else
        add_given(piece, owner, segment);
    }
  }

  /// The sum of this process's ranks: where it is, and after which task.
  std::pair<const void*, Task> add_own_sum(const Piece& piece, Range range) {
    Piece sum = empty(piece, range);
    sum.op = op_in_process(piece.op);
    for (std::size_t s = 0; s < piece.sources.size(); ++s)
      if (is_here(piece.source_ranks[s]))
        sum.add_source(static_cast<std::size_t>(piece.source_ranks[s]),
                       element(piece.sources[s], range.begin, piece.dtype),
                       piece.factors[s]);
    if (sum.sources.size() == 1 && piece.op != ReduceOp::premul_sum)
      return {sum.sources.front(), kNone};
    void* const own = room_(sum.nbytes());
    sum.add_target(0, own);
    return {own, graph_.add_piece(std::move(sum))};
  }

  void add_given(const Piece& piece, int owner, Range range) {
    const std::size_t nbytes = empty(piece, range).nbytes();
    const auto [sum, summed] = add_own_sum(piece, range);
    const Task sent = send(owner, sum, nbytes, summed);
    void* const target = first_target(piece, range);
    if (target == nullptr) return;
    const Task there = receive(owner, target, nbytes);
    // Nothing is sent back before the owner has what was sent, but these links copy later.
    if (!take_back_) graph_.order(sent, there);
    add_local_copies(piece, range, target, there);
  }

  void add_owned(const Piece& piece, Range range) {
    Piece total = empty(piece, range);
    const bool divides = piece.op == ReduceOp::avg;
    total.op = op_among_processes(group_, piece.op);
    std::vector<Task> needed;
    for (int place = 0; place < group_.size(); ++place) {
      const auto [from, task] =
          place == group_.own ? add_own_sum(piece, range)
                              : std::pair<const void*, Task>(receive_aside(place, total.nbytes()));
      total.add_source(static_cast<std::size_t>(place), from);
      needed.push_back(task);
    }
    void* const result = first_target(piece, range);
    total.add_target(0, result);
    const std::size_t nbytes = total.nbytes();
    const ReduceOp total_op = total.op;
    Task done = graph_.add_piece(std::move(total));
    for (const Task task : needed)
      graph_.order(task, done);
    if (divides && total_op != ReduceOp::avg) done = add_division(piece, range, result, done);
    add_local_copies(piece, range, result, done);
    for (const int place : places(piece.target_ranks))
      if (place != group_.own) send(place, result, nbytes, done);
  }

  Task add_division(const Piece& of, Range range, void* values, Task after) {
    Piece piece = empty(of, range);
    piece.divisor = static_cast<double>(of.sources.size());
    piece.add_source(0, values);
    piece.add_target(0, values);
    const Task task = graph_.add_piece(std::move(piece));
    graph_.order(after, task);
    return task;
  }

  void add_step_piece(const Piece& piece, const Step& step) {
    Piece own = piece;
    own.targets.clear();
    own.target_ranks.clear();
    for (std::size_t t = 0; t < piece.targets.size(); ++t)
      if (is_here(piece.target_ranks[t]))
        own.add_target(static_cast<std::size_t>(piece.target_ranks[t]), piece.targets[t]);
    std::vector<Task> needed;
    for (std::size_t s = 0; s < piece.sources.size(); ++s) {
      const int from = group_.place(piece.source_ranks[s]);
      if (from == group_.own) {
        for (const int place : places(piece.target_ranks))
          if (place != from)
            graph_.order(send(place, piece.sources[s], piece.nbytes(), step.before), step.moved);
      } else if (!own.targets.empty()) {
        const auto [data, there] = receive_aside(from, piece.nbytes());
        own.sources[s] = data;
        needed.push_back(there);
      }
    }
    if (own.targets.empty()) return;
    const Task task = graph_.add_piece(std::move(own));
    for (const Task there : needed)
      graph_.order(there, task);
    graph_.order(step.moved, task);
    graph_.order(task, step.after);
  }

  const Membership& group_;
  const Channels& channels_;
  bool take_back_;
  const std::function<void*(std::size_t)>& room_;
  std::vector<std::uint32_t> sent_, received_;  // messages so far, by process of the group
  MessageGraph graph_;
  Task last_native_ = kNone;
};

}  // namespace

ReduceOp op_in_process(ReduceOp op) noexcept {
  return op == ReduceOp::avg ? ReduceOp::sum : op;
}

ReduceOp op_among_processes(const Membership& group, ReduceOp op) noexcept {
  const bool one_each = group.size() == group.ranks.size();
  return op == ReduceOp::avg && one_each ? op : undivided(op);
}

std::uint64_t message_tag(std::uint32_t channel, std::uint32_t number) noexcept {
  return kDataBit | std::uint64_t{channel} << 24 | number % (1U << 24);
}

std::uint64_t opening_tag(std::uint64_t group) noexcept {
  return group & ~kDataBit;
}

MessageGraph build_graph(Operation& op,
                         const Membership& group,
                         const GroupOptions& options,
                         const Channels& channels,
                         const std::vector<std::optional<ProcessLinks::Native>>& natives,
                         bool take_back,
                         const std::function<void*(std::size_t)>& room) {
  GraphBuilder builder(group, channels, take_back, room);
  const std::size_t size = op.parts.size() / op.signatures.size();
  for (std::size_t i = 0; i < op.signatures.size(); ++i) {
    const auto parts = std::span(op.parts).subspan(i * size, size);
    Signature signature = op.signatures[i];
    if (algorithm_of(signature) == &native()) signature.algorithm = Signature::kDirect;
    CollectivePlan plan = make_collective_plan({&signature, 1}, parts, options);
    if (signature.algorithm != Signature::kDirect) {
      builder.add_steps(plan.pieces);
      op.plan.traffic.resize(op.signatures.size());
      op.plan.traffic[i] = std::move(plan.traffic.front());
      continue;
    }
    const bool is_theirs = !natives.empty() && natives[i];
    for (const Piece& piece : plan.pieces)
      is_theirs ? builder.add_native(piece, *natives[i]) : builder.add_direct(piece);
  }
  return builder.take();
}

}  // namespace tandem::comm
