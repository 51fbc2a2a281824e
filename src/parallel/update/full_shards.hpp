// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// The update in mode fully_sharded: each device updates the shares of the blocks that it has. The
/// blocks sleep, so whoever reads a parameter or a gradient next gets it from the shares.
class FullShards final : public UpdateSharing {
 public:
  explicit FullShards(SharedParts parts);

  Parts parts() const noexcept override { return Parts::shares; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;

  void complete() noexcept override {}  // who reads a gradient gets it
  void begin_backward() override { first().sleep(); }
  void reduced() noexcept override {}
  void made_whole() override { first().keep_gradients(); }
  void discard() override;
  void gather_values(comm::Communicator&, int) const noexcept override {}
  void note_written(int device) override;

 private:
  SleepingBlocks& first() const { return *sleeping().front(); }

  std::vector<std::vector<std::uint64_t>> versions_;  // of the shares' values, by device, by block
};

}  // namespace tandem::parallel
