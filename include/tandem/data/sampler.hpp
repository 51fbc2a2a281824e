// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem::datasets {

/// Gives the indices of an epoch, in order. It must be a pure function of the epoch, so that a run
/// can be continued anywhere.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t epoch)>;

/// Gives 0 to size - 1 in each epoch.
///
/// @throws InvalidArgument  if `size` is negative.
Sampler sequential_sampler(std::int64_t size);

/// Gives a permutation of 0 to size - 1 that depends only on (seed, epoch, size). It is the same on
/// every machine.
///
/// @throws InvalidArgument  if `size` is negative.
Sampler random_sampler(std::int64_t size, std::uint64_t seed);

/// What to do if the ranks do not divide the number of indices.
enum class Uneven : std::uint8_t {
  repeat,  ///< the first indices are repeated, so that every rank has ceil(size / ranks)
  drop,    ///< the last indices are dropped, so that every rank has floor(size / ranks)
};

/// Gives one rank's part of the indices of `whole`, for training loops that serve one rank each:
/// every ranks-th index, from index `rank` on. All ranks get the same number of indices.
///
/// It is like PyTorch's DistributedSampler, but needs no set_epoch, because the epoch is an
/// argument of each call.
///
///     distributed_sampler(random_sampler(set->size(), seed), rank.size(), rank.rank())
///
/// @throws InvalidArgument  if `ranks` is below 1, or `rank` is not one of them.
Sampler distributed_sampler(Sampler whole, int ranks, int rank, Uneven uneven = Uneven::repeat);

/// How many of the indices that distributed_sampler gives a rank with Uneven::repeat come before
/// the first repeated one. If all ranks count only these, a metric covers each of the `size`
/// samples once.
///
/// @throws InvalidArgument  as distributed_sampler, or if `size` is negative.
std::int64_t unrepeated_count(std::int64_t size, int ranks, int rank);

}  // namespace tandem::datasets
