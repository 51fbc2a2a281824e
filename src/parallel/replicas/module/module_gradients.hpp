// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tandem/parallel/detail/no_sync.hpp"

#include "parallel/reduce/gradient_snapshot.hpp"
#include "parallel/replicas/call/call_runner.hpp"
#include "parallel/replicas/module/gradient_reads.hpp"
#include "parallel/replicas/module/module_parameters.hpp"
#include "parallel/update/parameter_update.hpp"

namespace tandem::parallel {

/// The gradients of the module's parameters: whether they have been reduced, who completes them,
/// and how they are put back after a failure.
class ModuleGradients {
 public:
  /// Runs a job on every device, in a call without rows that begins with `phase`.
  ///
  /// @return the call, which has ended.
  /// @throws ReplicaError, Timeout
  using OnAllDevices = std::function<std::shared_ptr<Call>(
      Phase phase, const std::function<void(Call& call, Call::Part& part)>& job)>;

  ModuleGradients(const Replicas& replicas,
                  const ModuleParameters& parameters,
                  const ModeRules& rules,
                  CallRunner& runner,
                  OnAllDevices on_all_devices);
  ModuleGradients(const ModuleGradients&) = delete;
  ModuleGradients& operator=(const ModuleGradients&) = delete;

  /// Chooses who updates the parameters. Call it after ModuleParameters::bind.
  void bind();
  /// Call it before ModuleParameters::release. Until bind() gradients are used as they lie.
  void release();
  /// Makes any read of the module's gradients complete them first, for as long as `owner` lives.
  void complete_on_reading(const std::shared_ptr<const void>& owner);
  /// The object that updates the parameters.
  ParameterUpdate& update() const noexcept { return *update_; }

  /// Whether backwards reduce the gradients. It is not changed while a call runs.
  GradientSync syncs = GradientSync::on;
  bool reduces() const noexcept { return syncs == GradientSync::on; }
  /// Whether replicas have gradients of earlier backwards that have not been reduced.
  bool has_unreduced() const noexcept { return unreduced_; }

  /// While it lives, gradients can be read before they are whole.
  [[nodiscard]] GradientReads::AsTheyLie as_they_lie() { return GradientReads::AsTheyLie(reads_); }
  /// Called before a backward. @return what it would change, to be put back if it fails
  GradientSnapshot begin_backward();
  /// If that fails, the runner is poisoned: the failure before it is what is to be told.
  void restore(const GradientSnapshot& snapshot);
  /// Prepares a replica's gradients for backwards, the last of which reduces them.
  void arm(Call& call, Call::Part& part) const;
  /// Gives the module every gradient that some replica made, even if replica 0 made none.
  void adopt(const Call& call);
  /// Called after a successful backward.
  void note_backward() noexcept;
  /// Reduces the gradients that backwards under no_sync left in the replicas. Does nothing in a
  /// call.
  void sync();
  /// Makes the module's gradients the sum over all replicas. Does nothing in a call.
  void complete();

 private:
  /// What was dropped of the module's gradients is dropped in the replicas.
  void follow_drops();
  /// Runs each device's part of an update, outside of a step.
  void update_everywhere(const std::function<void(int device)>& part);

  const Replicas& replicas_;
  const ModuleParameters& parameters_;
  const ModeRules& rules_;
  CallRunner& runner_;
  OnAllDevices on_all_devices_;
  std::shared_ptr<ParameterUpdate> update_;
  GradientReads reads_;
  bool unreduced_ = false;
};

}  // namespace tandem::parallel
