// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/schedule_pieces.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;

/// Where a rank's values are while the collective runs.
struct Memory {
  const void* data = nullptr;
  void* writable = nullptr;  ///< null: it is only sent
};

/// Elements that the ranks in `sources` have, for those in `targets`: one piece of a step.
struct Joined {
  std::int64_t begin;
  std::int64_t end;
  std::vector<int> sources;  // in order
  std::vector<int> targets;
};

bool scales(const Signature& s) noexcept {
  return s.kind != Kind::broadcast && s.op == ReduceOp::premul_sum;
}

std::vector<Memory> memory_of(const Signature& s, std::span<const Part> parts) {
  std::vector<Memory> memory;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const Part& part = parts[r];
    const bool is_root = static_cast<int>(r) == s.root;
    void* own = part.output;
    if (s.kind == Kind::reduce && !is_root) own = part.scratch;
    const bool sends_input = s.kind == Kind::broadcast ? is_root : own == nullptr;
    memory.push_back(sends_input ? Memory{part.input, nullptr} : Memory{own, own});
  }
  return memory;
}

/// A step's transfers, those to the same elements of a rank together, and those of the same sources
/// too: two ranks that swap are one piece, which reads before it writes.
std::vector<Joined> joined(std::vector<Transfer> step) {
  std::ranges::sort(
      step, {}, [](const Transfer& t) { return std::tuple(t.begin, t.end, t.to, t.from); });
  std::vector<Joined> all;
  for (auto t = step.begin(); t != step.end();) {
    Joined own{t->begin, t->end, {}, {t->to}};
    if (t->kind == Transfer::Kind::reduce) own.sources.push_back(t->to);
    const Transfer& first = *t;
    for (; t != step.end() && t->begin == first.begin && t->end == first.end && t->to == first.to;
         ++t)
      own.sources.push_back(t->from);
    std::ranges::sort(own.sources);
    const auto same = std::ranges::find_if(all, [&](const Joined& e) {
      return e.begin == own.begin && e.end == own.end && e.sources == own.sources;
    });
    if (same == all.end())
      all.push_back(std::move(own));
    else
      same->targets.push_back(own.targets.front());
  }
  return all;
}

class Builder {
 public:
  Builder(const Signature& signature, std::span<const Part> parts, std::vector<Piece>& pieces)
      : signature_(signature),
        parts_(parts),
        pieces_(pieces),
        memory_(memory_of(signature, parts)),
        traffic_(parts.size() * parts.size()) {}

  void copy_inputs() {
    for (std::size_t r = 0; r < parts_.size(); ++r) {
      if (memory_[r].writable == nullptr) continue;
      if (memory_[r].data == parts_[r].input && !scales(signature_)) continue;
      Piece piece;
      piece.add_source(r, parts_[r].input, parts_[r].factor);
      piece.add_target(r, memory_[r].writable);
      add(std::move(piece), signature_.count, signature_.op);
    }
  }

  void run_step(const std::vector<Transfer>& step) {
    ++step_;
    for (const Joined& e : joined(step)) {
      Piece piece;
      for (const int r : e.sources)
        piece.add_source(static_cast<std::size_t>(r), at(memory(r).data, e.begin));
      for (const int r : e.targets)
        piece.add_target(static_cast<std::size_t>(r), at(memory(r).writable, e.begin));
      add(std::move(piece), e.end - e.begin, step_op());
    }
    for (const Transfer& t : step) {
      const auto link =
          static_cast<std::size_t>(t.from) * parts_.size() + static_cast<std::size_t>(t.to);
      traffic_[link] += static_cast<std::size_t>(t.end - t.begin) * itemsize(signature_.dtype);
    }
  }

  void divide() {
    ++step_;
    for (std::size_t r = 0; r < parts_.size(); ++r) {
      if (signature_.kind == Kind::reduce && static_cast<int>(r) != signature_.root) continue;
      Piece piece;
      piece.divisor = static_cast<double>(parts_.size());
      piece.add_source(r, memory_[r].data);
      piece.add_target(r, memory_[r].writable);
      add(std::move(piece), signature_.count, step_op());
    }
  }

  Traffic take_traffic() { return std::move(traffic_); }

 private:
  const Memory& memory(int rank) const { return memory_[static_cast<std::size_t>(rank)]; }
  template <class P>
  P* at(P* data, std::int64_t count) const {
    return element(data, count, signature_.dtype);
  }
  /// Factors were applied before the steps, a mean is divided after them.
  ReduceOp step_op() const noexcept { return undivided(signature_.op); }
  void add(Piece piece, std::int64_t count, ReduceOp op) {
    piece.dtype = signature_.dtype;
    piece.op = op;
    piece.count = count;
    piece.step = step_;
    pieces_.push_back(std::move(piece));
  }

  const Signature& signature_;
  std::span<const Part> parts_;
  std::vector<Piece>& pieces_;
  std::vector<Memory> memory_;
  Traffic traffic_;
  int step_ = 0;
};

}  // namespace

Problem problem_of(const Signature& s, int ranks, const GroupOptions& options) {
  const auto size = static_cast<std::int64_t>(itemsize(s.dtype));
  return {.kind = s.kind,
          .ranks = ranks,
          .count = s.count,
          .root = std::max(s.root, 0),
          .segment = std::max<std::int64_t>(1, options.segment_bytes / size),
          .group = options.group};
}

bool needs_scratch(const Signature& s, int ranks, int rank, const GroupOptions& options) {
  if (s.algorithm == Signature::kDirect || s.kind != Kind::reduce || rank == s.root) return false;
  if (scales(s)) return true;
  for (const auto& step : algorithm_of(s)->schedule(problem_of(s, ranks, options)).steps) {
    for (const Transfer& t : step)
      if (t.to == rank) return true;
  }
  return false;
}

Traffic add_scheduled_pieces(const Signature& s,
                             std::span<const Part> parts,
                             const GroupOptions& options,
                             std::vector<Piece>& pieces) {
  const Problem problem = problem_of(s, static_cast<int>(parts.size()), options);
  Builder builder(s, parts, pieces);
  builder.copy_inputs();
  for (const auto& step : algorithm_of(s)->schedule(problem).steps)
    builder.run_step(step);
  if (s.op == ReduceOp::avg && s.kind != Kind::broadcast) builder.divide();
  return builder.take_traffic();
}

}  // namespace tandem::comm
