// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/simulate.hpp"

namespace tandem::sim {

/// Two steps, one after the other, in simulated time.
struct FollowedStep {
  profile::StepRecord both;
  profile::Duration begin{};  ///< when the machine would be done with the first alone
  profile::Duration end{};    ///< when it is done with both
};

/// Two steps as time_after counts the second: from `begin` to `end`. Arguments as there.
FollowedStep simulate_after(const profile::StepRecord& before,
                            const profile::StepRecord& step,
                            const Cluster& cluster,
                            std::span<const Device> devices,
                            const SimulateOptions& options = {});

/// How much later a machine is done with two steps than with the first of them alone.
///
/// A step may still send when the next one has begun: updated parameters, for example, which the
/// next forward takes as it needs them. So this is the time of a step among others. A pure
/// function; thread-safe. Errors are those of simulate.
///
/// @param before, step  what one StepRecorder recorded of two steps, one after the other
profile::Duration time_after(const profile::StepRecord& before,
                             const profile::StepRecord& step,
                             const Cluster& cluster,
                             std::span<const Device> devices,
                             const SimulateOptions& options = {});

/// Says how long steps take that follow each other on a described machine: see time_after. Not
/// thread-safe.
class StepClock {
 public:
  /// Arguments as those of simulate.
  StepClock(Cluster cluster, std::vector<Device> devices, SimulateOptions options = {})
      : cluster_(std::move(cluster)), devices_(std::move(devices)), options_(options) {}

  /// Takes a step, and says how long it took there. The first step of all is alone.
  ///
  /// @throws InvalidArgument  as simulate, and whatever `step` throws: the next step is then the
  ///                          first again.
  /// @cost   microseconds for each piece of work
  profile::Duration time(const std::function<void()>& step);
  /// The last step, alone, in simulated time.
  const profile::StepRecord& last() const noexcept { return simulated_; }

 private:
  Cluster cluster_;
  std::vector<Device> devices_;
  SimulateOptions options_;
  profile::StepRecorder recorder_;
  profile::StepRecord before_;  // as it was recorded
  profile::StepRecord simulated_;
};

}  // namespace tandem::sim
