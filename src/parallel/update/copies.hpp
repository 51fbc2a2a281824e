// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// The update in mode ddp: each device updates its whole copy of the module with the same
/// gradients. So the copies stay equal, and no values are exchanged.
class Copies final : public UpdateSharing {
 public:
  using UpdateSharing::UpdateSharing;

  Parts parts() const noexcept override { return Parts::copies; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;

  void complete() noexcept override {}  // they are complete already
  void begin_backward() noexcept override { equal_.clear(); }
  void reduced() override { equal_ = versions(); }
  void discard() noexcept override { equal_.clear(); }
  void gather_values(comm::Communicator&, int) const noexcept override {}

 private:
  // Versions of device 0's gradients when all devices had the same gradients.
  std::vector<std::uint64_t> equal_;
};

}  // namespace tandem::parallel
