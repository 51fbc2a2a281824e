// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "parallel/update/gather_shares.hpp"
#include "parallel/update/update_sharing.hpp"

namespace tandem::parallel {

/// The update in mode sharded: each device updates an even share of every bucket.
///
/// After a reduction the module's gradients on device 0 are not whole, because each device has its
/// own shares. When somebody reads them, they are brought together on device 0. If they are changed
/// there, an update first copies the shares back to their devices.
class Shards final : public UpdateSharing {
 public:
  using UpdateSharing::UpdateSharing;

  Parts parts() const noexcept override { return Parts::shares; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;

  /// Brings the shares together on device 0, unless this was already done.
  void complete() override;
  /// Before a backward: brings existing gradients, which it will add to, to device 0.
  void begin_backward() override;
  void reduced() noexcept override { partial_ = true; }
  void discard() noexcept override {
    partial_ = false;
    completed_.clear();
  }
  void gather_values(comm::Communicator& group, int device) const override {
    gather_shares(arena(device), buckets(), group);
  }

 private:
  /// Copies all shares of the gradients from their devices to device 0, or back.
  enum class To : std::uint8_t { device_0, shares };
  void copy_gradients(To to) const;
  void add_frozen(std::vector<optim::ArenaSlice>& slices) const;

  std::atomic<bool> partial_{false};  // device 0's gradients are not whole
  std::vector<std::uint64_t>
      completed_;  // versions of device 0's gradients when they were made whole
};

}  // namespace tandem::parallel
