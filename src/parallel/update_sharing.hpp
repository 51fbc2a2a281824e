// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/optim/arena_sharing.hpp"

#include "parallel/buckets.hpp"

namespace tandem::parallel {

/// What the devices of a mode update, and what they do with gradients and values around it.
///
/// The module's gradients are those of device 0; what somebody changes there counts.
class UpdateSharing : public optim::ArenaSharing {
 public:
  /// Runs a job on the thread of every device. @throws ReplicaError, Timeout
  using OnDevices = std::function<void(const std::function<void(int rank)>& job)>;

  /// @param arenas  by rank.
  /// @param reduce  reduces gradients that have not been.
  UpdateSharing(std::vector<std::shared_ptr<optim::Arena>> arenas,
                std::shared_ptr<const std::vector<Bucket>> buckets,
                OnDevices on_devices,
                std::function<void()> reduce);

  void update(const std::function<std::exception_ptr(Device)>& part) final;

  /// Makes the gradients on device 0 whole, unless they are.
  virtual void complete() = 0;
  /// A backward begins.
  virtual void begin_backward() = 0;
  /// The gradients have been reduced.
  virtual void reduced() = 0;
  /// The gradients on device 0 are what they were before the backward.
  virtual void discard() = 0;
  /// Gives every rank the values that the others have updated; each rank calls it, on its thread.
  virtual void gather_values(comm::Communicator& group, int rank) const = 0;

 protected:
  int size() const noexcept { return static_cast<int>(arenas_.size()); }
  const std::vector<Bucket>& buckets() const noexcept { return *buckets_; }
  const optim::Arena& arena(int rank) const { return *arenas_[static_cast<std::size_t>(rank)]; }
  /// Reduces gradients that have not been.
  void reduce() { reduce_(); }
  /// Of the gradients on device 0, by bucket.
  std::vector<std::uint64_t> versions() const;

 private:
  std::vector<std::shared_ptr<optim::Arena>> arenas_;
  std::shared_ptr<const std::vector<Bucket>> buckets_;
  OnDevices on_devices_;
  std::function<void()> reduce_;
};

}  // namespace tandem::parallel
