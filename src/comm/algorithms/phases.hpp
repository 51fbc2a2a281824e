// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of schedules: phases over some of the ranks, each beginning at a given step. Each
// function returns the step after its last one. Groups of ranks that run a phase at the same time
// are given the same first step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/comm/algorithms.hpp"

#include "core/even_share.hpp"

namespace tandem::comm {

using Ranks = std::span<const int>;

/// Adds a transfer to a step; does nothing for an empty range.
void add(Schedule& schedule, std::int64_t step, Transfer::Kind kind, int from, int to, Share range);

/// `n` ranks: `first`, `first` + stride, ...
std::vector<int> ranks_from(int first, int n, int stride = 1);

/// The number of segments in a range of `count` elements, at least one.
std::int64_t segments_of(std::int64_t count, std::int64_t segment) noexcept;

/// The i-th rank of the ring gets the reduction of share i: ring.size() - 1 steps, one share each.
std::int64_t ring_reduce_scatter(Schedule& schedule, std::int64_t first, Ranks ring, Share range);
/// The same for segment `k` of the `segments` segments of each share.
std::int64_t ring_reduce_scatter(
    Schedule& schedule, std::int64_t first, Ranks ring, Share range, int k, int segments);
/// All ranks of the ring get share i from the i-th rank: ring.size() - 1 steps, one share each.
std::int64_t ring_all_gather(Schedule& schedule, std::int64_t first, Ranks ring, Share range);

/// Copies from the first rank of the chain to the next, and so on: chain.size() - 2 + segments
/// steps.
std::int64_t chain_copy(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments);
/// Reduces from the last rank of the chain to the one before it, and so on to the first.
std::int64_t chain_reduce(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments);
/// The cost of chain_copy or chain_reduce.
Cost chain_cost(int ranks, double count, std::int64_t segments) noexcept;

}  // namespace tandem::comm
