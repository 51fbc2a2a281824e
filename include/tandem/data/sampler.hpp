// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem::datasets {

/// The indices of an epoch, in order. A pure function of the epoch, so that a run can go on
/// anywhere.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t epoch)>;

/// 0 to size - 1, in each epoch.
///
/// @throws InvalidArgument  `size` is negative.
Sampler sequential_sampler(std::int64_t size);

/// A permutation of 0 to size - 1 that follows from (seed, epoch, size) alone, on every machine.
///
/// @throws InvalidArgument  `size` is negative.
Sampler random_sampler(std::int64_t size, std::uint64_t seed);

/// What becomes of indices that do not come out even over the ranks.
enum class Uneven : std::uint8_t {
  repeat,  ///< the first ones come again, so that every rank has ceil(size / ranks)
  drop,    ///< the last ones are left out: every rank has floor(size / ranks)
};

/// A rank's part of what `whole` gives, for training loops of one rank each: every ranks-th index
/// from its own number on. All ranks have the same number.
///
/// PyTorch's DistributedSampler, without its set_epoch: the epoch comes with the call.
/// `distributed_sampler(random_sampler(set->size(), seed), rank.size(), rank.rank())`
///
/// @throws InvalidArgument  `ranks` is below 1, or `rank` is not one of them.
Sampler distributed_sampler(Sampler whole, int ranks, int rank, Uneven uneven = Uneven::repeat);

/// Of the indices that distributed_sampler gives a rank with Uneven::repeat, how many come before
/// the first that is repeated. A metric that counts no others is the one of `size` samples.
///
/// @throws InvalidArgument  as distributed_sampler; `size` is negative.
std::int64_t unrepeated_count(std::int64_t size, int ranks, int rank);

}  // namespace tandem::datasets
