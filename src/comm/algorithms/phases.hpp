// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// What schedules are made of: phases over some of the ranks, each from a first step on. Each
// function returns the step after its last. Groups of ranks that do a phase at once are given the
// same first step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/comm/algorithms.hpp"

#include "core/even_share.hpp"

namespace tandem::comm {

using Ranks = std::span<const int>;

/// Part `i` of `n` even ones.
Share part(Share whole, int i, int n) noexcept;

/// No effect for an empty range.
void add(Schedule& schedule, std::int64_t step, Transfer::Kind kind, int from, int to, Share range);

/// `first`, `first` + stride, ...: `n` ranks.
std::vector<int> ranks_from(int first, int n, int stride = 1);

/// Segments of a range of `count`, at least one.
std::int64_t segments_of(std::int64_t count, std::int64_t segment) noexcept;

/// The i-th of the ring gets the reduction of part i: ring.size() - 1 steps, one part each.
std::int64_t ring_reduce_scatter(Schedule& schedule, std::int64_t first, Ranks ring, Share range);
/// The same for segment `k` of `segments` of each part.
std::int64_t ring_reduce_scatter(
    Schedule& schedule, std::int64_t first, Ranks ring, Share range, int k, int segments);
/// All of the ring get the part i of the i-th: ring.size() - 1 steps, one part each.
std::int64_t ring_all_gather(Schedule& schedule, std::int64_t first, Ranks ring, Share range);

/// From the first of the chain to the next, and so on: chain.size() - 2 + segments steps.
std::int64_t chain_copy(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments);
/// The reduction comes from the last of the chain to the one before, and so on to the first.
std::int64_t chain_reduce(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments);
/// What either costs.
Cost chain_cost(int ranks, double count, std::int64_t segments) noexcept;

}  // namespace tandem::comm
