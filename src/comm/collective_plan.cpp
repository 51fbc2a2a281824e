// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/collective_plan.hpp"

#include <algorithm>
#include <numeric>

#include "tandem/core/check.hpp"

#include "comm/schedule_pieces.hpp"
#include "core/even_share.hpp"
#include "kernels/divide.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;

/// Bytes of a slice in each source: small enough to share out, large enough that a claim is free.
constexpr std::int64_t kSliceBytes = 64 * 1024;

std::int64_t slice_count(DType dtype) noexcept {
  return kSliceBytes / static_cast<std::int64_t>(itemsize(dtype));
}

/// The part that is cut by rank, where a collective has one.
std::int64_t cut_count(Kind kind, const Part& part) noexcept {
  const bool cuts_input = kind == Kind::gather || kind == Kind::all_gather;
  return cuts_input ? part.input_count : part.output_count;
}

std::int64_t whole_count(const Signature& s, std::span<const Part> parts) noexcept {
  if (s.kind == Kind::gather) return parts[static_cast<std::size_t>(s.root)].output_count;
  if (s.kind == Kind::scatter) return parts[static_cast<std::size_t>(s.root)].input_count;
  return s.count;
}

bool cuts(Kind kind) noexcept {
  return kind == Kind::all_to_all || kind == Kind::gather || kind == Kind::scatter ||
         kind == Kind::all_gather || kind == Kind::reduce_scatter;
}

void check_sum(const Signature& s, std::span<const Part> parts) {
  std::int64_t sum = 0;
  std::string counts;
  for (const Part& p : parts) {
    sum += cut_count(s.kind, p);
    counts += (counts.empty() ? "" : " + ") + std::to_string(cut_count(s.kind, p));
  }
  const std::int64_t whole = whole_count(s, parts);
  if (sum == whole) return;
  throw Desync(detail::concat("count differs: the parts of the ranks have ",
                              counts,
                              " = ",
                              sum,
                              " elements, but the whole has ",
                              whole));
}

/// The piece that is, or comes from, rank `r`'s part, which begins at `offset` of the whole.
Piece cut_piece(const Signature& s,
                std::span<const Part> parts,
                std::size_t r,
                std::int64_t offset) {
  Piece piece;
  piece.count = cut_count(s.kind, parts[r]);
  const std::size_t root = static_cast<std::size_t>(std::max(s.root, 0));
  switch (s.kind) {
    case Kind::gather:
      piece.add_source(r, parts[r].input);
      piece.add_target(root, element(parts[root].output, offset, s.dtype));
      break;
    case Kind::scatter:
      piece.add_source(root, element(parts[root].input, offset, s.dtype));
      piece.add_target(r, parts[r].output);
      break;
    case Kind::all_gather:
      piece.add_source(r, parts[r].input);
      for (std::size_t to = 0; to < parts.size(); ++to)
        piece.add_target(to, element(parts[to].output, offset, s.dtype));
      break;
    default:  // reduce_scatter
      for (std::size_t from = 0; from < parts.size(); ++from)
        piece.add_source(from, element(parts[from].input, offset, s.dtype), parts[from].factor);
      piece.add_target(r, parts[r].output);
  }
  return piece;
}

/// The one piece of a collective over equal tensors.
Piece whole_piece(const Signature& s, std::span<const Part> parts) {
  Piece piece;
  piece.count = s.count;
  for (std::size_t r = 0; r < parts.size(); ++r) {
    const bool is_root = static_cast<int>(r) == s.root;
    if (s.kind != Kind::broadcast || is_root) piece.add_source(r, parts[r].input, parts[r].factor);
    const bool gets = s.kind == Kind::all_reduce || (s.kind == Kind::reduce) == is_root;
    if (gets) piece.add_target(r, parts[r].output);
  }
  return piece;
}

/// What each rank has for each.
void add_exchange(const Signature& s, std::span<const Part> parts, std::vector<Piece>& pieces) {
  std::vector<std::int64_t> filled(parts.size());  // by target
  for (std::size_t from = 0; from < parts.size(); ++from) {
    std::int64_t offset = 0;
    for (std::size_t to = 0; to < parts.size(); ++to) {
      const std::int64_t count = parts[from].input_counts[to];
      const std::int64_t expected = parts[to].output_counts[from];
      if (count != expected) {
        throw Desync(detail::concat("count differs: rank ",
                                    from,
                                    " has ",
                                    count,
                                    " elements for rank ",
                                    to,
                                    ", which expects ",
                                    expected));
      }
      Piece& piece = pieces.emplace_back();
      piece.count = count;
      piece.add_source(from, element(parts[from].input, offset, s.dtype));
      piece.add_target(to, element(parts[to].output, filled[to], s.dtype));
      offset += count;
      filled[to] += count;
    }
  }
}

/// The pieces of one collective.
void add_pieces(const Signature& s, std::span<const Part> parts, std::vector<Piece>& pieces) {
  if (s.kind == Kind::barrier || s.kind == Kind::split) return;
  const std::size_t first = pieces.size();
  if (s.kind == Kind::all_to_all) {
    add_exchange(s, parts, pieces);
  } else if (cuts(s.kind)) {
    check_sum(s, parts);
    std::int64_t offset = 0;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      pieces.push_back(cut_piece(s, parts, r, offset));
      offset += pieces.back().count;
    }
  } else {
    pieces.push_back(whole_piece(s, parts));
  }
  for (std::size_t p = first; p < pieces.size(); ++p) {
    pieces[p].dtype = s.dtype;
    pieces[p].op = s.op;
  }
}

void number_slices(CollectivePlan& plan) {
  int step = 0;
  std::int64_t after = 0;
  for (Piece& piece : plan.pieces) {
    const std::int64_t per_slice = slice_count(piece.dtype);
    if (piece.step != step) after = piece.step == 0 ? 0 : plan.slices;
    step = piece.step;
    piece.after = after;
    piece.first_slice = plan.slices;
    if (!piece.targets.empty()) plan.slices += (piece.count + per_slice - 1) / per_slice;
  }
}

}  // namespace

const void* element(const void* data, std::int64_t count, DType dtype) noexcept {
  if (data == nullptr) return nullptr;
  return static_cast<const char*>(data) + static_cast<std::size_t>(count) * itemsize(dtype);
}

void* element(void* data, std::int64_t count, DType dtype) noexcept {
  return const_cast<void*>(element(static_cast<const void*>(data), count, dtype));
}

ReduceOp undivided(ReduceOp op) noexcept {
  return op == ReduceOp::avg || op == ReduceOp::premul_sum ? ReduceOp::sum : op;
}

kernels::Reduction reduction_of(ReduceOp op) noexcept {
  switch (op) {
    case ReduceOp::avg:
      return kernels::Reduction::avg;
    case ReduceOp::min:
      return kernels::Reduction::min;
    case ReduceOp::max:
      return kernels::Reduction::max;
    case ReduceOp::product:
      return kernels::Reduction::product;
    case ReduceOp::band:
      return kernels::Reduction::band;
    case ReduceOp::bor:
      return kernels::Reduction::bor;
    case ReduceOp::bxor:
      return kernels::Reduction::bxor;
    case ReduceOp::premul_sum:
      return kernels::Reduction::premul_sum;
    case ReduceOp::sum:
      break;
  }
  return kernels::Reduction::sum;
}

Part part_of(const Collective& c) {
  Part part{.input_counts = c.input_counts, .output_counts = c.output_counts};
  part.factor = c.reduction.factor;
  if (c.input.defined()) {
    part.input = c.input.data();
    part.input_count = c.input.numel();
    part.has_data = c.input.has_data();
  }
  if (c.output.defined()) {
    part.output = c.output.data();
    part.output_count = c.output.numel();
    part.has_data = part.has_data && c.output.has_data();
  }
  return part;
}

void Piece::add_source(std::size_t rank, const void* data, double factor) {
  sources.push_back(data);
  factors.push_back(factor);
  source_ranks.push_back(static_cast<int>(rank));
}

void Piece::add_target(std::size_t rank, void* data) {
  targets.push_back(data);
  target_ranks.push_back(static_cast<int>(rank));
}

CollectivePlan make_collective_plan(std::span<const Signature> signatures,
                                    std::span<const Part> parts,
                                    const GroupOptions& options) {
  CollectivePlan plan;
  const std::size_t size = parts.size() / signatures.size();
  std::size_t named = 0;  // pieces that know their collective
  for (std::size_t i = 0; i < signatures.size(); ++i) {
    const auto own = parts.subspan(i * size, size);
    if (signatures[i].algorithm == Signature::kDirect) {
      add_pieces(signatures[i], own, plan.pieces);
    } else {
      plan.traffic.resize(signatures.size());
      plan.traffic[i] = add_scheduled_pieces(signatures[i], own, options, plan.pieces);
    }
    for (; named < plan.pieces.size(); ++named)
      plan.pieces[named].collective = i;
  }
  number_slices(plan);
  return plan;
}

CollectivePlan make_message_plan(
    const Signature& signature, const Part& sender, const Part& receiver, int from, int to) {
  CollectivePlan plan;
  Piece& piece = plan.pieces.emplace_back();
  piece.dtype = signature.dtype;
  piece.count = signature.count;
  piece.add_source(static_cast<std::size_t>(from), sender.input);
  piece.add_target(static_cast<std::size_t>(to), receiver.output);
  number_slices(plan);
  return plan;
}

const Piece& CollectivePlan::piece_of(std::int64_t slice) const {
  const auto next =
      std::upper_bound(pieces.begin(), pieces.end(), slice, [](std::int64_t s, const Piece& p) {
        return s < p.first_slice;
      });
  return *std::prev(next);  // of several that begin here, the last is the one with slices
}

void CollectivePlan::run(std::int64_t slice) const {
  const Piece& piece = piece_of(slice);
  const std::int64_t per_slice = slice_count(piece.dtype);
  const std::int64_t begin = (slice - piece.first_slice) * per_slice;
  piece.run(begin, std::min(piece.count, begin + per_slice));
}

void Piece::run(std::int64_t begin, std::int64_t end) const {
  if (divisor != 1) return kernels::divide(dtype, targets.front(), divisor, begin, end);
  kernels::sum_ranks(reduction_of(op), dtype, sources, targets, begin, end, factors);
}

std::size_t bytes_between(const Signature& s, std::span<const Part> parts, int from, int to) {
  if (from == to) return 0;
  const int size = static_cast<int>(parts.size());
  const std::size_t source = static_cast<std::size_t>(from);
  const std::size_t target = static_cast<std::size_t>(to);
  std::int64_t count = 0;
  switch (s.kind) {
    case Kind::broadcast:
      count = from == s.root ? s.count : 0;
      break;
    case Kind::reduce:
      count = to == s.root ? s.count : 0;
      break;
    case Kind::all_reduce:
      for (const int r : {to, from})
        count += even_share(s.count, r, size).size();
      break;
    case Kind::gather:
      count = to == s.root ? parts[source].input_count : 0;
      break;
    case Kind::scatter:
      count = from == s.root ? parts[target].output_count : 0;
      break;
    case Kind::all_gather:
      count = parts[source].input_count;
      break;
    case Kind::reduce_scatter:
      count = parts[target].output_count;
      break;
    case Kind::all_to_all:
      count = parts[source].input_counts[target];
      break;
    case Kind::send:  // a message, see there
    case Kind::recv:
    case Kind::split:
    case Kind::barrier:
      break;
  }
  return static_cast<std::size_t>(count) * itemsize(s.dtype);
}

}  // namespace tandem::comm
