// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/parallel/no_sync.hpp"

#include "parallel/call_runner.hpp"
#include "parallel/gradient_snapshot.hpp"
#include "parallel/module_parameters.hpp"
#include "parallel/parameter_update.hpp"

namespace tandem::parallel {

/// The gradients of the module's parameters: whether they have been reduced, who completes them,
/// and how they are put back after a failure.
class ModuleGradients {
 public:
  /// Runs a job on every device, in a call without rows that begins with `phase`.
  ///
  /// @return the call, which has ended. @throws ReplicaError, Timeout
  using OnAllDevices = std::function<std::shared_ptr<Call>(
      Phase phase, const std::function<void(Call& call, Call::Part& part)>& job)>;

  ModuleGradients(const Replicas& replicas,
                  const ModuleParameters& parameters,
                  const ModeRules& rules,
                  CallRunner& runner,
                  OnAllDevices on_all_devices);
  ModuleGradients(const ModuleGradients&) = delete;
  ModuleGradients& operator=(const ModuleGradients&) = delete;

  /// Chooses who updates. After ModuleParameters::bind.
  void bind();
  /// Before ModuleParameters::release.
  void release() noexcept { update_.reset(); }
  /// Makes reading the module's gradients complete them, as long as `owner` of this object lives.
  void complete_on_reading(const std::shared_ptr<const void>& owner);
  /// Who updates the parameters; there is one between bind() and release().
  ParameterUpdate& update() const noexcept { return *update_; }

  GradientSync syncs() const noexcept { return syncs_; }
  void set_syncs(GradientSync sync) noexcept { syncs_ = sync; }
  bool reduces() const noexcept { return syncs_ == GradientSync::on; }
  /// Replicas have gradients of earlier backwards that have not been reduced.
  bool has_unreduced() const noexcept { return unreduced_; }

  /// A backward is to come. @return what it would change, to be put back if it fails
  GradientSnapshot begin_backward();
  void restore(const GradientSnapshot& snapshot);
  /// Readies a replica's gradients for backwards, the last of which reduces them.
  void arm(Call& call, Call::Part& part) const;
  /// Ends the reduction of a replica's gradients.
  static void reduce(Call::Part& part);
  /// Marks the module's gradients that some replica made, also where replica 0 made none.
  void adopt(const Call& call);
  /// A backward went well.
  void note_backward() noexcept;
  /// Reduces what backwards under no_sync have left in the replicas. Does nothing inside a call.
  void sync();
  /// Makes the module's gradients those of all replicas. Does nothing inside a call.
  void complete();

 private:
  /// Gradients are looked at without being reduced first.
  class AsTheyLie;
  bool has_any() const;
  void attach_source() const;
  /// Runs a device's part of an update on each, outside of a step.
  void update_everywhere(const std::function<void(int device)>& part);

  const Replicas& replicas_;
  const ModuleParameters& parameters_;
  const ModeRules& rules_;
  CallRunner& runner_;
  OnAllDevices on_all_devices_;
  std::shared_ptr<ParameterUpdate> update_;
  std::shared_ptr<autograd::GradientSource> source_;
  GradientSync syncs_ = GradientSync::on;
  bool unreduced_ = false;
  std::atomic<bool> lies_{false};
};

}  // namespace tandem::parallel
