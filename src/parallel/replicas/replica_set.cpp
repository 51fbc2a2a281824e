// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/detail/replica_set.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/plan/micro_batches.hpp"
#include "parallel/plan/step_planner.hpp"
#include "parallel/replicas/bitwise_pass.hpp"
#include "parallel/replicas/check_options.hpp"
#include "parallel/replicas/micro_batch_pass.hpp"
#include "parallel/replicas/train_step.hpp"
#include "runtime/job_group.hpp"

namespace tandem::parallel {
namespace {

constexpr int kReplans = 8;  // of one step; each takes less of a device that was full

Replicas make_replicas(const std::vector<nn::Module*>& modules,
                       const std::vector<Device>& devices) {
  Replicas replicas;
  for (std::size_t d = 0; d < devices.size(); ++d)
    replicas.push_back(
        std::make_unique<DeviceReplica>(static_cast<int>(d), devices[d], *modules[d]));
  return replicas;
}

}  // namespace

/// What a wrapper is made of. Jobs keep it, which may outlive a call that timed out.
struct ReplicaSet::Parts {
  Parts(const std::vector<nn::Module*>& modules,
        std::vector<Device> d,
        const DataParallelOptions& o,
        const ModeRules& rules)
      : options(o),
        devices(checked(std::move(d), o)),
        groups(devices, {.timeout = o.deadline, .backend = o.backend}),
        runner(devices,
               {.deadline = o.deadline,
                .dim = o.dim,
                .starts_threads = rules.replication() == ModeRules::Replication::every_forward}),
        planner(devices, chunk_policy(o)),
        module(modules, devices.front()),
        replicas(make_replicas(modules, devices)),
        parameters(replicas, rules, {o.first_bucket_nbytes, o.bucket_nbytes}),
        buffers(replicas, rules, o.buffers),
        gradients(replicas,
                  parameters,
                  rules,
                  runner,
                  [this](Phase phase, const auto& job) { return on_all_devices(phase, job); }),
        calls({replicas, module, parameters, buffers, gradients, groups, runner}),
        non_finite(
            replicas, gradients, {o.non_finite_loss, o.non_finite_gradients, o.bitwise_leaves > 0}),
        drift(o.check_drift_every) {
    // A backend that these devices cannot have is refused now, too.
    if (o.backend != comm::Backend::local)
      groups.get(std::vector<RowRange>(devices.size()), ReplicaGroups::Members::all);
    module.note_training(parameters.arena());
    module.claim(buffers.arena());
    for (const auto& replica : replicas) {
      module.claim(replica->parameters());
      module.claim(replica->buffers);
    }
  }

  std::shared_ptr<Call> on_all_devices(
      Phase phase, const std::function<void(Call& call, Call::Part& part)>& job) {
    const auto call = calls.open_everywhere();
    runner.run(call, phase, [call, job](Call::Part& part) { job(*call, part); });
    return call;
  }

  DataParallelOptions options;
  std::vector<Device> devices;
  ReplicaGroups groups;
  CallRunner runner;
  StepPlanner planner;
  WrappedModule module;
  Replicas replicas;
  ModuleParameters parameters;
  ModuleBuffers buffers;
  ModuleGradients gradients;
  Calls calls;
  NonFiniteCheck non_finite;
  DriftCheck drift;
  CallGate gate;
};

/// What a step is asked to do.
struct ReplicaSet::StepRequest {
  const LossBody& body;
  optim::Optimizer* optimizer;
  optim::GradScaler* scaler;
  TrainStep::Effect effect;
};

ReplicaSet::ReplicaSet(const std::vector<nn::Module*>& modules,
                       std::vector<Device> devices,
                       const DataParallelOptions& options)
    : ReplicaSet(modules, std::move(devices), options, rules_of(options.mode)) {}

ReplicaSet::ReplicaSet(const std::vector<nn::Module*>& modules,
                       std::vector<Device> devices,
                       const DataParallelOptions& options,
                       const ModeRules& rules)
    : parts_(std::make_shared<Parts>(modules, std::move(devices), options, rules)) {
  parts_->gradients.complete_on_reading(parts_);
}

ReplicaSet::~ReplicaSet() {
  try {
    parts_->gradients.complete();
  } catch (...) {  // gradients stay as they lie: the device is lost, and whoever uses it will hear
                   // of it
  }
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

std::vector<Tensor> ReplicaSet::parameters() const {
  const auto& arena = parts_->parameters.arena();
  std::vector<Tensor> parameters;
  for (std::size_t p = 0; arena != nullptr && p < arena->layout().places().size(); ++p) {
    if (const Tensor x = arena->tensor(p); x.defined()) parameters.push_back(x);
  }
  return parameters;
}

std::vector<std::vector<Tensor>> ReplicaSet::replica_parameters() const {
  std::vector<std::vector<Tensor>> parameters(parts_->devices.size());
  const auto arenas = parts_->parameters.arenas();
  const auto& first = arenas.front();
  for (std::size_t p = 0; first != nullptr && p < first->layout().places().size(); ++p) {
    if (const Tensor x = first->tensor(p); !x.defined() || !x.requires_grad()) continue;
    for (std::size_t d = 0; d < parameters.size(); ++d)
      parameters[d].push_back(arenas[d]->tensor(p));
  }
  return parameters;
}

std::uint64_t ReplicaSet::generation() const noexcept {
  return parts_->calls.generation();
}

bool ReplicaSet::has_parameter_hooks() const {
  const auto& arena = parts_->parameters.arena();
  return arena != nullptr && parallel::has_parameter_hooks(*arena);
}

std::size_t ReplicaSet::parameter_nbytes() const noexcept {
  const auto& arena = parts_->parameters.arena();
  return arena == nullptr ? 0 : arena->layout().nbytes();
}

void ReplicaSet::forward(const std::vector<RowRange>& rows, const Body& body) {
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open(rows);
  pass.show(call);
  parts_->buffers.expect_writes(*call);
  const ModuleBuffers::Shown buffers(parts_->buffers);
  parts_->runner.run(call, Phase::replicate, [parts = parts_, call, body](Call::Part& part) {
    in_phase(part, Phase::replicate, [&] {
      parts->parameters.send(*call, part);
      parts->buffers.send(*call, part);
    });
    if (part.active) in_phase(part, Phase::forward, [&] { body(part.argument()); });
    parts->parameters.end_send(*call, part);
    parts->buffers.combine(*call, part);
    agree(*call, part);
    parts->buffers.merge(*call, part);
  });
  parts_->calls.commit(*call);
}

void ReplicaSet::backward(const std::vector<RowRange>& rows, const Body& body) {
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open_backward(rows);
  pass.show(call);
  ModuleGradients& gradients = parts_->gradients;
  const auto snapshot = gradients.begin_backward();
  try {
    parts_->runner.run(call, Phase::backward, [parts = parts_, call, body](Call::Part& part) {
      parts->gradients.arm(*call, part);
      if (BucketReducer* reducer = part.replica->reducer()) reducer->begin_backward();
      if (part.active) body(part.argument());
      ModuleGradients::reduce(part);
      agree(*call, part);
    });
  } catch (...) {
    gradients.restore(snapshot);
    throw;
  }
  gradients.note_backward();
  gradients.adopt(*call);
  if (gradients.reduces()) gradients.update().reduced();
}

void ReplicaSet::on_replicas(const std::vector<RowRange>& rows, const Body& body) {
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto call = parts_->calls.open_backward(rows);
  pass.show(call);
  parts_->runner.run(call, Phase::backward, [call, body](Call::Part& part) {
    if (part.active) body(part.argument());
    agree(*call, part);
  });
}

std::shared_ptr<TrainStep> ReplicaSet::make_step(const std::vector<RowRange>& planned,
                                                 const StepRequest& request) {
  Parts& p = *parts_;
  std::vector<RowRange> rows = planned;
  std::vector<Leaf> leaves;
  if (p.options.bitwise_leaves > 0) {
    TANDEM_CHECK(p.options.accumulate == 1,
                 "DataParallel: bitwise_leaves and accumulate both cut the batch; give one of "
                 "them");
    TANDEM_CHECK(p.buffers.arena() == nullptr || !p.module.original().is_training(),
                 "DataParallel: the bitwise mode has no rule for buffers that change in training; "
                 "the module has some (batch norm's running statistics). Use a norm without, or "
                 "leave bitwise_leaves at 0");
    leaves = cut_leaves(planned, p.options.bitwise_leaves);
    rows = rows_of(leaves, p.devices.size());
  }
  const auto call = p.calls.open(rows);
  for (auto& part : cut_micro_batches(rows, p.devices, p.options.accumulate)) {
    ReplicaGroup* group = &p.calls.group_for(part);
    call->micro_batches.push_back({std::move(part), group});
  }
  std::unique_ptr<GradientPass> pass;
  if (leaves.empty())
    pass = std::make_unique<MicroBatchPass>(p.non_finite, request.body, p.gradients, p.buffers);
  else
    pass = std::make_unique<BitwisePass>(p.non_finite, request.body, std::move(leaves));
  return std::make_shared<TrainStep>(TrainStep::Parts{p.parameters,
                                                      p.buffers,
                                                      p.gradients,
                                                      p.non_finite,
                                                      p.drift,
                                                      p.calls,
                                                      p.runner,
                                                      p.options.straggler_ratio},
                                     call,
                                     std::move(pass),
                                     request.optimizer,
                                     request.scaler,
                                     request.effect);
}

StepResult ReplicaSet::take_step(const std::vector<RowRange>& rows,
                                 const StepRequest& request,
                                 std::shared_ptr<TrainStep>* taken) {
  TANDEM_CHECK(rows.back().end > 0,
               "step: the batch has no rows, and so no mean loss; leave it out");
  TANDEM_CHECK(
      parts_->gradients.reduces() ||
          (request.optimizer == nullptr && parts_->options.bitwise_leaves == 0),
      "DataParallel: a step with an optimizer, or in the bitwise mode, needs gradients that have "
      "been reduced; leave the scope of no_sync first");
  TANDEM_CHECK(request.scaler == nullptr || request.optimizer != nullptr,
               "step: a scaler without an optimizer, whose update it guards; give both");
  Calls::check_outside();
  CallGate::Pass pass(parts_->gate);
  const auto step = make_step(rows, request);
  if (taken != nullptr) *taken = step;
  return TrainStep::take(step, pass, parts_);
}

StepResult ReplicaSet::step(const BatchSize& batch,
                            const LossBody& body,
                            optim::Optimizer* optimizer,
                            const StepOptions& options) {
  StepPlanner& planner = parts_->planner;
  const auto rehearse = rehearsal(body, optimizer);
  planner.learn(batch, rehearse);
  for (int replans = 0;; ++replans) {
    try {
      return take_step(
          plan(batch.rows), {body, optimizer, options.scaler, TrainStep::Effect::real}, nullptr);
    } catch (const ReplicaError& e) {
      if (parts_->options.on_oom != OnOutOfMemory::replan || !is_out_of_memory(e)) throw;
      if (replans == kReplans || !planner.is_large_enough(batch)) throw;
      planner.replan(batch, rehearse, e);
    }
  }
}

std::function<StepProbe(const std::vector<std::int64_t>&)> ReplicaSet::rehearsal(
    const LossBody& body, optim::Optimizer* optimizer) {
  return [this, body, optimizer](const std::vector<std::int64_t>& rows) {
    for (const Device d : parts_->devices)
      logical_device(d).reset_peak();
    std::shared_ptr<TrainStep> step;
    take_step(ranges_of(rows), {body, optimizer, nullptr, TrainStep::Effect::none}, &step);
    StepProbe probe{.rows = rows, .peak_bytes = {}};
    for (const Call::Part& part : step->call().parts) {
      probe.peak_bytes.push_back(logical_device(part.device()).memory_stats().peak);
      probe.ms.push_back(std::chrono::duration<double, std::milli>(part.work_time).count());
    }
    return probe;
  };
}

StepModel ReplicaSet::measure(const BatchSize& batch,
                              const LossBody& body,
                              optim::Optimizer* optimizer) {
  return parts_->planner.measure(batch, rehearsal(body, optimizer));
}

std::optional<StepProbe> ReplicaSet::try_batch(const BatchSize& batch,
                                               const LossBody& body,
                                               optim::Optimizer* optimizer) {
  return parts_->planner.try_batch(batch, rehearsal(body, optimizer));
}

void ReplicaSet::set_syncs(GradientSync sync) {
  parts_->gradients.set_syncs(sync);
}

GradientSync ReplicaSet::syncs() const noexcept {
  return parts_->gradients.syncs();
}

void ReplicaSet::sync() {
  Calls::check_outside();
  const CallGate::Pass pass(parts_->gate);
  parts_->gradients.sync();
  const auto ended =
      parts_->on_all_devices(Phase::replicate, [parts = parts_](Call& call, Call::Part& part) {
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

void ReplicaSet::on_device(Device device, Phase phase, const std::function<void()>& body) {
  const ContextScope scope([&](Context& c) { c.phase = phase; });
  Worker& worker = logical_device(device).worker();
  if (parts_->devices.size() == 1 || worker.is_current()) {
    body();
  } else {
    const Deadline deadline(parts_->options.deadline, {device});
    Ticket ticket = worker.submit(body);
    if (std::exception_ptr error = outcome(ticket, deadline))
      std::rethrow_exception(std::move(error));
  }
}

const std::shared_ptr<ReplicaSet>& ReplicaSetOwner::get() const {
  TANDEM_CHECK(set_ != nullptr,
               "DataParallel: it was moved from; use the one that it was moved to");
  return set_;
}

}  // namespace tandem::parallel
