// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/replica_set.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "parallel/replicas/step/backward_call.hpp"
#include "parallel/replicas/step/engine.hpp"
#include "parallel/replicas/step/forward_call.hpp"
#include "parallel/replicas/step/step_runner.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kRehearsals = "step_model and find_largest_batch are";
constexpr const char* kMeasureAlone = "measure with a wrapper that has no world";

}  // namespace

ReplicaSet::ReplicaSet(const std::vector<nn::Module*>& modules,
                       std::vector<Device> devices,
                       const DataParallelOptions& options)
    : ReplicaSet(sources_of(modules), std::move(devices), options, rules_of(options.mode)) {}

ReplicaSet::ReplicaSet(const std::vector<nn::Module*>& modules,
                       std::vector<Device> devices,
                       const DataParallelOptions& options,
                       const ModeRules& rules)
    : ReplicaSet(sources_of(modules), std::move(devices), options, rules) {}

ReplicaSet::ReplicaSet(const std::vector<std::shared_ptr<ReplicaSource>>& replicas,
                       std::vector<Device> devices,
                       const DataParallelOptions& options,
                       const ModeRules& rules)
    : engine_(std::make_shared<Engine>(replicas, std::move(devices), options, rules)) {
  engine_->gradients.complete_on_reading(engine_);
}

ReplicaSet::~ReplicaSet() {
  try {
    engine_->gradients.complete();
  } catch (...) {  // gradients stay as they lie: the device is lost, and whoever uses it will hear
                   // of it
  }
  engine_->parameters.give_back();
  for (const auto& replica : engine_->replicas)
    replica->unwatch_gradients();
}

const std::vector<Device>& ReplicaSet::devices() const noexcept {
  return engine_->devices;
}

std::vector<RowRange> ReplicaSet::plan(std::int64_t rows) const {
  return engine_->planner.plan(rows);
}

const ChunkPolicy& ReplicaSet::policy() const noexcept {
  return engine_->planner.policy();
}

const ModuleParameters& ReplicaSet::parameters() const noexcept {
  return engine_->parameters;
}

std::size_t ReplicaSet::parameter_nbytes() const noexcept {
  return engine_->parameters.arena()->layout().nbytes();
}

void ReplicaSet::forward(const std::vector<RowRange>& rows,
                         const Body& body,
                         const std::function<void()>& gather) {
  Calls::check_outside();
  CallGate::Pass pass(engine_->gate);
  ForwardCall::take(std::make_shared<ForwardCall>(engine_, rows, body), pass, gather);
}

void ReplicaSet::backward(const std::vector<RowRange>& rows,
                          const Body& body,
                          const Body& prepare) {
  Calls::check_outside();
  CallGate::Pass pass(engine_->gate);
  BackwardCall::take(std::make_shared<BackwardCall>(engine_, rows, body, prepare), pass);
}

void ReplicaSet::on_replicas(const std::vector<RowRange>& rows, const Body& body) {
  Calls::check_outside();
  engine_->check_alone("autograd::grad, create_graph and hooks of parameters in dp(x) are",
                       "call backward() without them, or step, which runs hooks");
  CallGate::Pass pass(engine_->gate);
  const auto call = engine_->calls.open_backward(rows);
  pass.show(call);
  engine_->run(call, Phase::backward, [body](Call& all, Call::Part& part) {
    const SleepAtEnd sleep(part.replica->blocks());
    if (part.active) body(part.argument());
    part.replica->blocks().check_unwritten();
    agree(all, part);
  });
}

StepResult ReplicaSet::step(const StepWork& work, const StepOptions& options) {
  return StepRunner(engine_, work.body, work.optimizer).step(work.batch, options);
}

StepModel ReplicaSet::measure(const StepWork& work) {
  engine_->check_alone(kRehearsals, kMeasureAlone);
  return StepRunner(engine_, work.body, work.optimizer).measure(work.batch);
}

std::optional<StepProbe> ReplicaSet::try_batch(const StepWork& work) {
  engine_->check_alone(kRehearsals, kMeasureAlone);
  return StepRunner(engine_, work.body, work.optimizer).try_batch(work.batch);
}

void ReplicaSet::set_syncs(GradientSync sync) {
  if (sync == GradientSync::off)
    engine_->check_alone("no_sync is", "accumulate in the step instead");
  engine_->gradients.syncs = sync;
}

GradientSync ReplicaSet::syncs() const noexcept {
  return engine_->gradients.syncs;
}

void ReplicaSet::sync() {
  Calls::check_outside();
  const CallGate::Pass pass(engine_->gate);
  engine_->gradients.sync();
  const auto ended = engine_->run(engine_->calls.open_changed(),
                                  Phase::replicate,
                                  [engine = engine_](Call& call, Call::Part& part) {
                                    in_phase(part, Phase::replicate, [&] {
                                      engine->parameters.send(call, part);
                                      engine->buffers.send(call, part);
                                    });
                                    engine->parameters.end_send(call, part);
                                    vote(part);
                                  });
  engine_->parameters.note_equal(*ended);
}

void ReplicaSet::cancel() noexcept {
  engine_->gate.cancel();
}

const std::shared_ptr<ReplicaSet>& ReplicaSetOwner::get() const {
  TANDEM_CHECK(set_ != nullptr,
               "DataParallel: this wrapper was moved from; use the one that it was moved to");
  return set_;
}

}  // namespace tandem::parallel
