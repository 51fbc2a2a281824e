// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/update/sleeping_shards.hpp"

namespace tandem::parallel {

/// The update in mode fully_sharded: each device updates the shares of the blocks that it has. The
/// blocks sleep, so whoever reads a parameter next gets it from the shares.
class FullShards final : public SleepingShards {
 public:
  explicit FullShards(SharedParts parts);

  std::vector<optim::ArenaSlice> slices() const override;
  void gather_values(comm::Communicator&, int) const noexcept override {}
  void note_written(int device) override;

 private:
  std::vector<std::vector<std::uint64_t>> versions_;  // of the shares' values, by device, by block
};

}  // namespace tandem::parallel
