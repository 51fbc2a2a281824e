// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tandem/parallel/options.hpp"

#include "parallel/plan/step_planner.hpp"
#include "parallel/replicas/call/call_gate.hpp"
#include "parallel/replicas/call/processes.hpp"
#include "parallel/replicas/device/module_move.hpp"
#include "parallel/replicas/device/wrapped_module.hpp"
#include "parallel/replicas/module/module_buffers.hpp"
#include "parallel/replicas/module/module_gradients.hpp"
#include "parallel/replicas/module/module_parameters.hpp"
#include "parallel/replicas/step/calls.hpp"
#include "parallel/replicas/step/drift_check.hpp"
#include "parallel/replicas/step/non_finite_check.hpp"

namespace tandem::parallel {

/// What a wrapper is made of, in the order in which the parts depend on each other. Jobs keep it,
/// since they may outlive a call that timed out.
struct Engine {
  /// @param sources  the module on devices[0], then a replica on each other device.
  /// @param rules    outlive this object.
  Engine(const ReplicaSources& sources,
         std::vector<Device> devices,
         const DataParallelOptions& options,
         const ModeRules& rules);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  using Job = std::function<void(Call& call, Call::Part& part)>;
  /// Runs a job on the thread of each device of a call, which begins with `phase`.
  ///
  /// @return the call, which has ended.
  /// @throws ReplicaError, Timeout
  std::shared_ptr<Call> run(const std::shared_ptr<Call>& call, Phase phase, const Job& job);
  /// @throws InvalidArgument  several processes train together.
  void check_alone(const char* what, const char* remedy) const;

  DataParallelOptions options;
  std::vector<Device> devices;
  ReplicaGroups groups;
  std::unique_ptr<const Processes> processes;
  CallRunner runner;
  StepPlanner planner;
  WrappedModule wrapped;
  ModuleMove move;
  Replicas replicas;
  ModuleParameters parameters;
  ModuleBuffers buffers;
  ModuleGradients gradients;
  Calls calls;
  NonFiniteCheck non_finite;
  DriftCheck drift;
  CallGate gate;
};

}  // namespace tandem::parallel
