// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/optim/arena_sharing.hpp"

#include "parallel/buckets.hpp"

namespace tandem::parallel {

/// What the devices update in mode sharded: each an even share of every bucket.
///
/// The module's gradients on device 0 are not whole after a reduction (each device has its shares),
/// until somebody looks at them: then they are brought together there, and an update takes the
/// shares from there where they were changed.
class Shards final : public optim::ArenaSharing {
 public:
  /// Runs a job on the thread of every device. @throws ReplicaError, Timeout
  using OnDevices = std::function<void(const std::function<void(int rank)>& job)>;

  /// @param arenas  by rank.
  /// @param reduce  reduces gradients that have not been.
  Shards(std::vector<std::shared_ptr<optim::Arena>> arenas,
         std::shared_ptr<const std::vector<Bucket>> buckets,
         OnDevices on_devices,
         std::function<void()> reduce);

  std::vector<optim::ArenaSlice> slices() const override;
  void share_gradients() override;
  void update(const std::function<std::exception_ptr(Device)>& part) override;

  /// Brings the shares together on device 0, unless they are.
  void complete();
  /// A backward begins: gradients that are there to be added to are brought to device 0.
  void begin_backward();
  /// The gradients have been reduced to the shares.
  void reduced() noexcept { partial_ = true; }
  /// The gradients on device 0 are what they were before the backward.
  void discard() noexcept {
    partial_ = false;
    completed_.clear();
  }
  /// Gives every rank the values of all shares; each rank calls it, on its thread.
  void gather_values(comm::Communicator& group, int rank) const;

 private:
  int size() const noexcept { return static_cast<int>(arenas_.size()); }
  std::vector<std::uint64_t> versions() const;
  /// Copies all shares of the gradients between device 0 and their own devices.
  enum class To : std::uint8_t { device_0, shares };
  void copy_gradients(To to) const;

  std::vector<std::shared_ptr<optim::Arena>> arenas_;
  std::shared_ptr<const std::vector<Bucket>> buckets_;
  OnDevices on_devices_;
  std::function<void()> reduce_;
  std::atomic<bool> partial_{false};  // device 0's gradients are not whole
  std::vector<std::uint64_t>
      completed_;  // versions of device 0's gradients when they were made whole
};

}  // namespace tandem::parallel
