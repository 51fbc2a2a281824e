// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "parallel/update/sleeping_shards.hpp"

namespace tandem::parallel {

/// The update in mode fully_sharded: each device updates the shares of the blocks that it has. The
/// blocks sleep, so whoever reads a parameter next gets it from the shares.
class FullShards final : public SleepingShards {
 public:
  using SleepingShards::SleepingShards;

  std::vector<optim::ArenaSlice> slices() const override;
  void gather_values(comm::Communicator&, int) const noexcept override {}
  void note_written(int device) override;
};

}  // namespace tandem::parallel
