// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/map.hpp"
#include "kernels/reduce.inl"

// The host's driver of reductions. x is walked in its memory order, in rows (the innermost
// dimension). Where a row is reduced, an output is the join of whole rows; where it is kept, each
// row adds to a block of outputs. Large reductions are cut into one part per thread.
namespace tandem::kernels {

/// Operand 0 of the plans is x, 1 is y.
struct ReducePlan {
  KernelPlan outer;     ///< over the kept dimensions but the row: one block of outputs each
  KernelPlan rows;      ///< over the reduced dimensions but the row
  std::int64_t length;  ///< of a row
  std::int64_t x_step;  ///< within a row
  std::int64_t y_step;  ///< within a row; zero where the row is reduced
  bool row_reduced;
};

inline constexpr std::int64_t kRunLength = 4096;    ///< elements that a row's partial sums take up
inline constexpr std::int64_t kRunRows = 128;       ///< rows that a column's partial sum takes up
inline constexpr std::int64_t kBlockColumns = 256;  ///< columns added up side by side
inline constexpr std::int64_t kMaxParts = 64;       ///< threads that share a reduction

/// @param x, y  y's reduced dimensions have size one.
ReducePlan make_reduce_plan(const View& x, const View& y);

namespace detail {

template <class Op>
typename Op::Total reduce_run(const Op& op,
                              const typename Op::In* x,
                              std::int64_t n,
                              std::int64_t step) {
  constexpr std::int64_t kLanes = 32;
  std::array<typename Op::Partial, kLanes> lanes;
  lanes.fill(op.partial());
  std::int64_t i = 0;
  if (step == 1) {
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t j = 0; j < kLanes; ++j)
        lanes[j] = op.add(lanes[j], x[i + static_cast<std::int64_t>(j)]);
    }
  }
  for (std::size_t j = 0; i < n; ++i, j = (j + 1) % kLanes)
    lanes[j] = op.add(lanes[j], x[i * step]);
  typename Op::Total total = op.total();
  for (const auto& lane : lanes)
    total = op.join(total, static_cast<typename Op::Total>(lane));
  return total;
}

// Elements [begin, end) of what one output is made of.
template <class Op>
typename Op::Total reduce_rows(const Op& op,
                               const ReducePlan& plan,
                               const typename Op::In* x,
                               std::int64_t begin,
                               std::int64_t end) {
  typename Op::Total total = op.total();
  std::int64_t at = begin % plan.length;
  Cursor row(plan.rows, begin / plan.length);
  for (std::int64_t i = begin; i < end; row.next(), at = 0) {
    const std::int64_t last = std::min(plan.length, at + end - i);
    for (; at < last; at += kRunLength) {
      const std::int64_t n = std::min(kRunLength, last - at);
      total = op.join(total, reduce_run(op, x + row.offset(0) + at * plan.x_step, n, plan.x_step));
      i += n;
    }
  }
  return total;
}

// Rows [begin, end) of `width` columns.
template <class Op>
void reduce_columns(const Op& op,
                    const ReducePlan& plan,
                    const typename Op::In* x,
                    std::int64_t width,
                    std::int64_t begin,
                    std::int64_t end,
                    typename Op::Total* totals) {
  std::fill_n(totals, width, op.total());
  std::array<typename Op::Partial, kBlockColumns> parts;
  Cursor row(plan.rows, begin);
  for (std::int64_t i = begin; i < end;) {
    std::fill_n(parts.data(), width, op.partial());
    for (const std::int64_t last = std::min(end, i + kRunRows); i < last; ++i, row.next()) {
      const auto* first = x + row.offset(0);
      auto* part = parts.data();
      if (plan.x_step == 1) {
#pragma GCC ivdep
        for (std::int64_t c = 0; c < width; ++c)
          part[c] = op.add(part[c], first[c]);
      } else {
        for (std::int64_t c = 0; c < width; ++c)
          part[c] = op.add(part[c], first[c * plan.x_step]);
      }
    }
    for (std::int64_t c = 0; c < width; ++c) {
      totals[c] =
          op.join(totals[c], static_cast<typename Op::Total>(parts[static_cast<std::size_t>(c)]));
    }
  }
}

// One block of outputs from part [begin, end) of its elements (row reduced) or rows.
template <class Op>
void reduce_block(const Op& op,
                  const ReducePlan& plan,
                  const typename Op::In* x,
                  std::int64_t width,
                  std::int64_t begin,
                  std::int64_t end,
                  typename Op::Total* totals) {
  if (plan.row_reduced) {
    *totals = reduce_rows(op, plan, x, begin, end);
  } else {
    reduce_columns(op, plan, x, width, begin, end, totals);
  }
}

// The same on all threads of `s`.
template <class Op>
void reduce_block_in_parts(const HostStream& s,
                           const Op& op,
                           const ReducePlan& plan,
                           const typename Op::In* x,
                           std::int64_t width,
                           std::int64_t depth,
                           typename Op::Total* totals) {
  using Block = std::array<typename Op::Total, kBlockColumns>;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / width);
  const std::int64_t parts = std::min(kMaxParts, tile_count(s, depth, grain));
  if (parts == 1) return reduce_block(op, plan, x, width, 0, depth, totals);
  std::array<Block, kMaxParts> partial;
  for_each_tile(s, parts, [&](std::int64_t t) {
    reduce_block(op,
                 plan,
                 x,
                 width,
                 depth * t / parts,
                 depth * (t + 1) / parts,
                 partial[static_cast<std::size_t>(t)].data());
  });
  std::copy_n(partial[0].data(), width, totals);
  for (std::size_t t = 1; t < static_cast<std::size_t>(parts); ++t) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c)
      totals[c] = op.join(totals[c], partial[t][c]);
  }
}

}  // namespace detail

/// y = the reduction of x by `op`, a functor of reduce.inl.
template <class Out, class Op>
void reduce(const HostStream& s, const Op& op, const View& x, const View& y) {
  using detail::reduce_block;
  const std::int64_t outputs = y.numel();
  if (outputs == 0) return;
  if (x.numel() == 0) return map<Out>(s, Nothing<Out, Op>{op}, y);
  const ReducePlan plan = make_reduce_plan(x, y);
  const std::int64_t columns = plan.row_reduced ? 1 : plan.length;
  const std::int64_t depth = x.numel() / outputs;  // elements of an output
  const std::int64_t blocks = (columns + kBlockColumns - 1) / kBlockColumns;
  const auto run = [&](std::int64_t begin, std::int64_t end, const auto& reduce_one) {
    std::array<typename Op::Total, kBlockColumns> totals;
    Cursor outer(plan.outer, begin / blocks);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % blocks * kBlockColumns;
      const std::int64_t width = std::min(kBlockColumns, columns - first);
      reduce_one(x.as<const typename Op::In>() + outer.offset(0) + first * plan.x_step,
                 width,
                 totals.data());
      Out* target = y.as<Out>() + outer.offset(1) + first * plan.y_step;
      for (std::int64_t c = 0; c < width; ++c) {
        target[c * plan.y_step] = op.template finish<Out>(totals[static_cast<std::size_t>(c)]);
      }
      if (i % blocks == blocks - 1) outer.next();
    }
  };
  const std::int64_t all = plan.outer.numel * blocks;
  if (all >= 4 * s.threads || s.threads == 1) {
    const std::int64_t cost = std::max<std::int64_t>(1, depth * std::min(columns, kBlockColumns));
    for_each_range(s,
                   all,
                   std::max<std::int64_t>(1, kGrain / cost),
                   [&](std::int64_t begin, std::int64_t end) {
                     run(begin, end, [&](const auto* px, std::int64_t width, auto* totals) {
                       reduce_block(op, plan, px, width, 0, depth, totals);
                     });
                   });
  } else {
    run(0, all, [&](const auto* px, std::int64_t width, auto* totals) {
      detail::reduce_block_in_parts(s, op, plan, px, width, depth, totals);
    });
  }
}

}  // namespace tandem::kernels
