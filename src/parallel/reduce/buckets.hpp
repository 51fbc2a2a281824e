// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/optim/arena_layout.hpp"
#include "tandem/tensor/tensor.hpp"

#include "core/even_share.hpp"

namespace tandem::parallel {

/// Gradients, or values, that are sent in one message.
struct Bucket {
  int block = 0;
  std::vector<Share> runs;  ///< contiguous elements of the block; a planned bucket has one run
  std::vector<std::size_t> places;

  /// The elements of a planned bucket.
  const Share& range() const { return runs.front(); }
};

/// Rank `r`'s even share of a planned bucket, in elements of the block.
Share share_of(const Bucket& bucket, int r, int ranks) noexcept;

/// Cuts the gradients into buckets from the last place to the first, which is roughly the order in
/// which backward makes them. The first bucket is small, so that the reduction starts early.
///
/// @param first_nbytes, nbytes  a bucket is closed once it has reached its size.
std::vector<Bucket> plan_buckets(const optim::ArenaLayout& layout,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes);

/// One bucket for each block that trains, from the last to the first.
std::vector<Bucket> plan_block_buckets(const optim::ArenaLayout& layout);

/// Cuts the gradients into buckets in the order in which they became ready.
///
/// @param ready  places; those that are missing follow, in the order of plan_buckets.
std::vector<Bucket> plan_buckets_as_ready(const optim::ArenaLayout& layout,
                                          const std::vector<std::size_t>& ready,
                                          std::size_t first_nbytes,
                                          std::size_t nbytes);

/// Cuts the values of all places into buckets in the order in which a forward is likely to read
/// them. The first bucket is small, so that the forward can begin early.
std::vector<Bucket> plan_broadcast(const optim::ArenaLayout& layout,
                                   std::size_t first_nbytes,
                                   std::size_t nbytes);

/// A range of elements of a flat tensor.
Tensor range(const Tensor& flat, const Share& elements);

}  // namespace tandem::parallel
