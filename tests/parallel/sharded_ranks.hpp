// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tandem/nn/replicate.hpp"
#include "tandem/parallel/fully_sharded_data_parallel.hpp"

#include "parallel/ranks.hpp"

// What the tests of FullyShardedDataParallel run on each rank.
namespace tandem::parallel::test {

inline constexpr std::int64_t kRowsOfAll = 13;

/// This rank's rows of a batch, which are unequal.
inline Batch rows_of(const Batch& batch, const Rank& rank) {
  const std::int64_t n = batch.x.size(0), ranks = rank.size(), r = rank.rank();
  const std::int64_t begin = r * n / ranks, end = (r + 1) * n / ranks;
  return {batch.x.narrow(0, begin, end - begin).to(rank.device()),
          batch.labels.narrow(0, begin, end - begin).to(rank.device())};
}

inline Batch batch_of_step(int step) {
  return make_batch(kRowsOfAll, 40 + static_cast<std::uint64_t>(step), DType::f64, false);
}

/// Runs `body(net, rank)` on so many ranks, each with a copy of `alone`.
template <class Net, class Body>
void with_nets(int n, const Net& alone, Body body) {
  auto copies = std::make_shared<std::vector<Net>>();
  for (int r = 0; r < n; ++r)
    copies->push_back(nn::clone(alone));
  run_ranks(
      devices(n),
      [copies, body](Rank& rank) {
        Net& net = (*copies)[static_cast<std::size_t>(rank.rank())];
        net.to(rank.device());
        body(net, rank);
      },
      kShort);
}

/// Bytes of parameters, gradients and state on a device.
inline std::array<std::size_t, 3> held(Device device) {
  const auto bytes = logical_device(device).memory_stats().by_category;
  const auto of = [&](Category c) { return bytes[static_cast<std::size_t>(c)]; };
  return {of(Category::parameter), of(Category::gradient), of(Category::optimizer)};
}

template <class Net>
Values unsharded_values(FullyShardedDataParallel<Net>& fsdp) {
  Values values;
  unsharded(fsdp, [&] { values = values_of(fsdp.module()); });
  return values;
}

}  // namespace tandem::parallel::test
