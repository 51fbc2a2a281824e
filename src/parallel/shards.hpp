// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "parallel/update_sharing.hpp"

namespace tandem::parallel {

/// What the devices update in mode sharded: each an even share of every bucket.
///
/// The module's gradients on device 0 are not whole after a reduction (each device has its shares),
/// until somebody looks at them: then they are brought together there, and an update takes the
/// shares from there where they were changed.
class Shards final : public UpdateSharing {
 public:
  using UpdateSharing::UpdateSharing;

  Parts parts() const noexcept override { return Parts::shares; }
  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;

  /// Brings the shares together on device 0, unless they are.
  void complete() override;
  /// A backward begins: gradients that are there to be added to are brought to device 0.
  void begin_backward() override;
  void reduced() noexcept override { partial_ = true; }
  void discard() noexcept override {
    partial_ = false;
    completed_.clear();
  }
  void gather_values(comm::Communicator& group, int rank) const override;

 private:
  /// Copies all shares of the gradients between device 0 and their own devices.
  enum class To : std::uint8_t { device_0, shares };
  void copy_gradients(To to) const;

  std::atomic<bool> partial_{false};  // device 0's gradients are not whole
  std::vector<std::uint64_t>
      completed_;  // versions of device 0's gradients when they were made whole
};

}  // namespace tandem::parallel
