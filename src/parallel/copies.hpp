// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/update_sharing.hpp"

namespace tandem::parallel {

/// What the devices update in mode ddp: each its whole copy of the module, by the same gradients,
/// so that the copies stay equal and no values are exchanged.
class Copies final : public UpdateSharing {
 public:
  using UpdateSharing::UpdateSharing;

  Parts parts() const noexcept override { return Parts::copies; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;

  void complete() noexcept override {}  // they are
  void begin_backward() noexcept override { equal_.clear(); }
  void reduced() override { equal_ = versions(); }
  void discard() noexcept override { equal_.clear(); }
  void gather_values(comm::Communicator&, int) const noexcept override {}

 private:
  std::vector<std::uint64_t> equal_;  // versions of device 0's gradients when all devices had them
};

}  // namespace tandem::parallel
