// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "parallel/call.hpp"
#include "parallel/mode_rules.hpp"

namespace tandem::parallel {

/// The replicas of a wrapper, by device.
using Replicas = std::vector<std::unique_ptr<DeviceReplica>>;

/// Puts a replica's tensors in the places of its module where the original has those of an arena.
void place_tensors(nn::Module& original,
                   const optim::Arena& arena,
                   nn::Module& copy,
                   const std::vector<Tensor>& tensors);

/// The module's parameters: their storage on all devices, and who has which values.
///
/// Device 0's are the module's. The others are sent them when they have changed.
class ModuleParameters {
 public:
  struct Options {
    std::size_t first_bucket_nbytes, bucket_nbytes;
  };
  ModuleParameters(const Replicas& replicas, const ModeRules& rules, Options options);

  /// Lays out the storage on all devices. The replicas' modules get new tensors.
  void bind();
  /// Lets go of the storage, for another bind().
  void release() noexcept;
  /// Device 0's; null if the module has none.
  const std::shared_ptr<optim::Arena>& arena() const noexcept { return first().parameters(); }
  /// The arenas, by device.
  std::vector<std::shared_ptr<optim::Arena>> arenas() const;
  /// How the gradients are cut; null if there are no parameters.
  const std::shared_ptr<const std::vector<Bucket>>& gradient_buckets() const noexcept {
    return gradient_buckets_;
  }

  /// Notes in a call what device 0 has, and whether a device of its group lacks it.
  void begin(Call& call) const;
  /// Sends the values where they lack; in a part's thread. They may still be on their way
  /// afterwards: work that touches them waits.
  void send(Call& call, Call::Part& part) const;
  /// Waits for values that no work has touched.
  void end_send(Call& call, Call::Part& part) const;
  /// Runs a device's update, and notes in which places it has changed values.
  static void note_update(Call::Part& part, const std::function<void()>& update);
  /// The devices of the call's group have received what device 0 had when it began.
  void note_sent(const Call& call) const;
  /// Every replica has device 0's present values, after an update on all devices or none.
  void note_equal(const Call& call) const;

 private:
  DeviceReplica& first() const noexcept { return *replicas_.front(); }

  const Replicas& replicas_;
  const ModeRules& rules_;
  Options options_;
  std::shared_ptr<const std::vector<Bucket>> gradient_buckets_;
  std::vector<Bucket> broadcast_buckets_;
};

}  // namespace tandem::parallel
