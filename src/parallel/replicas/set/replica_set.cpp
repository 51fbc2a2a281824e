// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/replica_set.hpp"

#include <optional>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/world/world.hpp"

#include "parallel/options/check_options.hpp"
#include "parallel/replicas/device/module_move.hpp"
#include "parallel/replicas/step/step_runner.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kRehearsals = "step_model and find_largest_batch are";
constexpr const char* kMeasureAlone = "measure with a wrapper that has no world";

Replicas make_replicas(const ReplicaSources& sources, const std::vector<Device>& devices) {
  Replicas replicas;
  for (std::size_t d = 0; d < devices.size(); ++d)
    replicas.push_back(
        std::make_unique<DeviceReplica>(static_cast<int>(d), devices[d], sources[d]));
  return replicas;
}

/// None: this process trains alone.
std::optional<ReplicaWorld> world_of(const std::vector<Device>& devices,
                                     const DataParallelOptions& o) {
  if (o.world == nullptr || o.world->size() == 1) return std::nullopt;
  return std::optional<ReplicaWorld>(std::in_place, devices, o);
}

/// Replicas of one process exchange by its own memory.
comm::Backend backend_here(comm::Backend backend) {
  const bool among_processes = backend == comm::Backend::gloo || backend == comm::Backend::mpi;
  return among_processes ? comm::Backend::local : backend;
}

}  // namespace

/// What a wrapper is made of. Jobs keep it, which may outlive a call that timed out.
struct ReplicaSet::Parts {
  Parts(const ReplicaSources& sources,
        std::vector<Device> d,
        const DataParallelOptions& o,
        const ModeRules& rules)
      : options(o),
        devices(checked(std::move(d), o)),
        groups(devices, {.timeout = o.deadline, .backend = backend_here(o.backend)}),
        world(world_of(devices, o)),
        runner(devices,
               {.deadline = o.deadline,
                .dim = o.dim,
                .starts_threads = rules.sends_all(),
                .processes_here = world ? world->processes_here() : 1}),
        planner(devices, chunk_policy(o)),
        module(o.init_on.value_or(devices.front()),
               sources,
               o.init_on ? "init_on" : "the first device"),
        move(*sources.front(), devices.front()),
        replicas(make_replicas(sources, devices)),
        parameters(replicas, rules, {.exchange = o.exchange, .sharding = o.sharding}),
        buffers(replicas, rules, o.buffers),
        gradients(replicas,
                  parameters,
                  rules,
                  runner,
                  [this](Phase phase, const auto& job) { return on_all_devices(phase, job); }),
        calls({replicas, module, parameters, buffers, gradients, groups, runner, all_processes()}),
        non_finite(replicas,
                   gradients,
                   {o.checks.non_finite_loss, o.checks.non_finite_gradients, o.bitwise_leaves > 0}),
        drift(o.checks.drift_every) {
    // A backend that these devices cannot have is refused now, too.
    if (backend_here(o.backend) != comm::Backend::local)
      groups.get(std::vector<RowRange>(devices.size()), ReplicaGroups::Members::all);
    module.note_training(parameters.arena());
    module.claim(buffers.arena());
    for (const auto& replica : replicas) {
      module.claim(replica->parameters());
      module.claim(replica->buffers);
    }
    if (world) world->share(*sources.front(), {parameters.arena(), buffers.arena()});
    move.complete();
  }

  const ReplicaWorld* all_processes() const noexcept { return world ? &*world : nullptr; }
  /// @throws InvalidArgument  several processes train together.
  void check_alone(const char* what, const char* remedy) const {
    TANDEM_CHECK(!world,
                 "DataParallel: ",
                 what,
                 " for one process, and ",
                 options.world->size(),
                 " train together; ",
                 remedy);
  }

  std::shared_ptr<Call> on_all_devices(
      Phase phase, const std::function<void(Call& call, Call::Part& part)>& job) {
    return run_on_all(calls.open_everywhere(), phase, job);
  }
  std::shared_ptr<Call> run_on_all(const std::shared_ptr<Call>& call,
                                   Phase phase,
                                   const std::function<void(Call& call, Call::Part& part)>& job) {
    runner.run(call, phase, [call, job](Call::Part& part) { job(*call, part); });
    return call;
  }

  StepRunner::Parts for_steps() {
    return {.step = {parameters,
                     buffers,
                     gradients,
                     non_finite,
                     drift,
                     calls,
                     runner,
                     options.checks.straggler_ratio},
            .planner = planner,
            .gate = gate,
            .module = module,
            .devices = devices,
            .options = options,
            .world = all_processes()};
  }

  DataParallelOptions options;
  std::vector<Device> devices;
  ReplicaGroups groups;
  std::optional<ReplicaWorld> world;
  CallRunner runner;
  StepPlanner planner;
  WrappedModule module;
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
    : parts_(std::make_shared<Parts>(replicas, std::move(devices), options, rules)) {
  parts_->gradients.complete_on_reading(parts_);
}

ReplicaSet::~ReplicaSet() {
  try {
    parts_->gradients.complete();
  } catch (...) {  // gradients stay as they lie: the device is lost, and whoever uses it will hear
                   // of it
  }
  parts_->parameters.give_back();
  for (const auto& replica : parts_->replicas)
    replica->unwatch_gradients();
}

const std::vector<Device>& ReplicaSet::devices() const noexcept {
  return parts_->devices;
}

std::vector<RowRange> ReplicaSet::plan(std::int64_t rows) const {
  return parts_->planner.plan(rows);
}

const ChunkPolicy& ReplicaSet::policy() const noexcept {
  return parts_->planner.policy();
}

const ModuleParameters& ReplicaSet::parameters() const noexcept {
  return parts_->parameters;
}

std::size_t ReplicaSet::parameter_nbytes() const noexcept {
  const auto& arena = parts_->parameters.arena();
  return arena == nullptr ? 0 : arena->layout().nbytes();
}

void ReplicaSet::forward(const std::vector<RowRange>& rows,
                         const Body& body,
                         const std::function<void()>& gather) {
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open(rows);
  // Without gradients a process may look at its own batches, as often as it likes.
  if (parts_->world && context().grad_enabled) call->enter(*parts_->world);
  pass.show(call);
  parts_->buffers.expect_writes(*call);
  const ModuleBuffers::Shown buffers(parts_->buffers);
  parts_->runner.run(call, Phase::replicate, [parts = parts_, call, body](Call::Part& part) {
    const SleepAtEnd sleep(part.replica->sleeping().get());
    exchange_rows(part);
    TANDEM_CHECK(part.whole.idle_process < 0,
                 "DataParallel: process ",
                 part.whole.idle_process,
                 " has no rows of this batch, and its backward would wait for a loss of none; give "
                 "each process a row, or use step, which takes parts without rows");
    const ContextScope scope([&](Context& c) { part.enter_rows(c); });
    in_phase(part, Phase::replicate, [&] {
      parts->parameters.send(*call, part);
      parts->buffers.send(*call, part);
    });
    if (part.active) in_phase(part, Phase::forward, [&] { body(part.argument()); });
    parts->parameters.end_send(*call, part);
    parts->buffers.combine(*call, part);
    agree(*call, part);
  });
  if (gather != nullptr) gather();
  parts_->buffers.merge(*call, call->part(0));
  parts_->calls.commit(*call);
}

void ReplicaSet::backward(const std::vector<RowRange>& rows,
                          const Body& body,
                          const Body& prepare) {
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open_backward(rows);
  pass.show(call);
  ModuleGradients& gradients = parts_->gradients;
  // Those of before are the same in all processes, and are not to be added up.
  if (parts_->world) gradients.sync();
  const auto snapshot = gradients.begin_backward();
  if (parts_->world) {
    snapshot.clear();
    call->enter(*parts_->world);
  }
  try {
    const auto work = [parts = parts_, call, body, prepare](Call::Part& part) {
      const SleepAtEnd sleep(part.replica->sleeping().get());
      exchange_rows(part);
      if (prepare) {
        if (part.active) prepare(part.argument(part.share_of_process(*call)));
        vote(part);
      }
      parts->gradients.arm(*call, part);
      if (BucketReducer* reducer = part.replica->reducer()) reducer->begin_backward();
      if (part.active) body(part.argument(part.share_of_process(*call)));
      if (const auto& blocks = part.replica->sleeping()) blocks->check_unwritten();
      finish_reduction(part);
      agree(*call, part);
    };
    parts_->runner.run(call, Phase::backward, work);
  } catch (...) {
    gradients.restore(snapshot);
    throw;
  }
  gradients.note_backward();
  gradients.adopt(*call);
  if (gradients.reduces()) gradients.update().reduced();
  if (parts_->world) snapshot.add();
}

void ReplicaSet::on_replicas(const std::vector<RowRange>& rows, const Body& body) {
  Calls::check_outside();
  parts_->check_alone("autograd::grad, create_graph and hooks of parameters in dp(x) are",
                      "call backward() without them, or step, which runs hooks");
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open_backward(rows);
  pass.show(call);
  parts_->runner.run(call, Phase::backward, [call, body](Call::Part& part) {
    const SleepAtEnd sleep(part.replica->sleeping().get());
    if (part.active) body(part.argument());
    if (const auto& blocks = part.replica->sleeping()) blocks->check_unwritten();
    agree(*call, part);
  });
}

StepResult ReplicaSet::step(const BatchSize& batch,
                            const LossBody& body,
                            optim::Optimizer* optimizer,
                            const StepOptions& options) {
  return StepRunner(parts_->for_steps(), body, optimizer, parts_).step(batch, options);
}

StepModel ReplicaSet::measure(const BatchSize& batch,
                              const LossBody& body,
                              optim::Optimizer* optimizer) {
  parts_->check_alone(kRehearsals, kMeasureAlone);
  return StepRunner(parts_->for_steps(), body, optimizer, parts_).measure(batch);
}

std::optional<StepProbe> ReplicaSet::try_batch(const BatchSize& batch,
                                               const LossBody& body,
                                               optim::Optimizer* optimizer) {
  parts_->check_alone(kRehearsals, kMeasureAlone);
  return StepRunner(parts_->for_steps(), body, optimizer, parts_).try_batch(batch);
}

void ReplicaSet::set_syncs(GradientSync sync) {
  if (sync == GradientSync::off)
    parts_->check_alone("no_sync is", "accumulate in the step instead");
  parts_->gradients.syncs = sync;
}

GradientSync ReplicaSet::syncs() const noexcept {
  return parts_->gradients.syncs;
}

void ReplicaSet::sync() {
  Calls::check_outside();
  const CallGate::Pass pass(parts_->gate);
  parts_->gradients.sync();
  const auto ended = parts_->run_on_all(parts_->calls.open_changed(),
                                        Phase::replicate,
                                        [parts = parts_](Call& call, Call::Part& part) {
                                          in_phase(part, Phase::replicate, [&] {
                                            parts->parameters.send(call, part);
                                            parts->buffers.send(call, part);
                                          });
                                          parts->parameters.end_send(call, part);
                                          vote(part);
                                        });
  parts_->parameters.note_equal(*ended);
}

void ReplicaSet::cancel() noexcept {
  parts_->gate.cancel();
}

const std::shared_ptr<ReplicaSet>& ReplicaSetOwner::get() const {
  TANDEM_CHECK(set_ != nullptr,
               "DataParallel: this wrapper was moved from; use the one that it was moved to");
  return set_;
}

}  // namespace tandem::parallel
