// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "parallel/update/gather_shares.hpp"
#include "parallel/update/sleeping_shards.hpp"

namespace tandem::parallel {

/// The update in mode sharded_gradients: each device has whole values and its share of the
/// gradients. It updates that share of the values, and sends it to all.
class GradientShards final : public SleepingShards {
 public:
  using SleepingShards::SleepingShards;

  std::vector<optim::ArenaSlice> slices() const override;
  void gather_values(comm::Communicator& group, int device) const override {
    gather_shares(arena(device), buckets(), group);
  }
};

}  // namespace tandem::parallel
