// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/step/step_runner.hpp"

#include <chrono>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/plan/micro_batches.hpp"
#include "parallel/replicas/step/bitwise_pass.hpp"
#include "parallel/replicas/step/kept_gradients.hpp"
#include "parallel/replicas/step/micro_batch_pass.hpp"
#include "parallel/replicas/step/optimizer_update.hpp"
#include "runtime/gpu/step_memory.hpp"

namespace tandem::parallel {
namespace {

constexpr int kReplans = 8;  // of one step; each takes less of a device that was full

}  // namespace

StepResult StepRunner::step(const BatchSize& batch, const StepOptions& options) {
  StepPlanner& planner = engine_->planner;
  planner.learn(batch, rehearsal());
  for (int replans = 0;; ++replans) {
    try {
      return take(planner.plan(batch.rows), options.scaler, TrainStep::Effect::real).result;
    } catch (const ReplicaError& e) {
      if (engine_->options.on_oom != OnOutOfMemory::replan || !is_out_of_memory(e)) throw;
      if (replans == kReplans || !planner.is_large_enough(batch)) throw;
      planner.replan(batch, rehearsal(), e);
    }
  }
}

StepModel StepRunner::measure(const BatchSize& batch) {
  return engine_->planner.measure(batch, rehearsal());
}

std::optional<StepProbe> StepRunner::try_batch(const BatchSize& batch) {
  return engine_->planner.try_batch(batch, rehearsal());
}

StepRunner::Taken StepRunner::take(const std::vector<RowRange>& rows,
                                   optim::GradScaler* scaler,
                                   TrainStep::Effect effect) {
  TANDEM_CHECK(rows.back().end > 0 || engine_->processes->are_several(),
               "step: the batch has no rows, so it has no mean loss; leave it out");
  TANDEM_CHECK(
      engine_->gradients.reduces() ||
          (optimizer_ == nullptr && engine_->options.bitwise_leaves == 0),
      "DataParallel: a step with an optimizer, or in the bitwise mode, needs gradients that have "
      "been reduced; leave the scope of no_sync first");
  TANDEM_CHECK(scaler == nullptr || optimizer_ != nullptr,
               "step: got a scaler without an optimizer; a scaler guards an optimizer's update, so "
               "give both");
  Calls::check_outside();
  CallGate::Pass pass(engine_->gate);
  const auto step = make(rows, scaler, effect);
  StepResult result = TrainStep::take(step, pass);
  return {step, std::move(result)};
}

std::shared_ptr<TrainStep> StepRunner::make(const std::vector<RowRange>& planned,
                                            optim::GradScaler* scaler,
                                            TrainStep::Effect effect) {
  const DataParallelOptions& options = engine_->options;
  std::vector<RowRange> rows = planned;
  std::vector<Leaf> leaves;
  if (options.bitwise_leaves > 0) {
    TANDEM_CHECK(options.accumulate == 1,
                 "DataParallel: bitwise_leaves and accumulate both cut the batch; give one of "
                 "them");
    TANDEM_CHECK(
        !engine_->buffers.train(),
        "DataParallel: the bitwise mode has no rule for buffers that change in training; "
        "the module has some (batch norm's running statistics). Use a norm without them, or "
        "leave bitwise_leaves at 0");
    leaves = cut_leaves(planned, options.bitwise_leaves);
    rows = rows_of(leaves, engine_->devices.size());
  }
  const auto call = engine_->calls.open(rows);
  engine_->processes->enter(*call);
  auto cut = cut_micro_batches(rows, engine_->devices, options.accumulate);
  if (engine_->processes->are_several())  // all processes have as many, of which some may be empty
    cut.resize(static_cast<std::size_t>(options.accumulate),
               std::vector<RowRange>(rows.size(), {rows.back().end, rows.back().end}));
  for (auto& part : cut) {
    ReplicaGroup* group = &engine_->calls.group_for(part);
    call->micro_batches.push_back({std::move(part), group});
  }
  std::unique_ptr<GradientPass> pass;
  if (leaves.empty())
    pass = std::make_unique<MicroBatchPass>(
        engine_->non_finite, body_, engine_->gradients, engine_->buffers);
  else
    pass = std::make_unique<BitwisePass>(engine_->non_finite, body_, std::move(leaves));
  std::unique_ptr<StepUpdate> update = std::make_unique<KeptGradients>();
  if (optimizer_ != nullptr)
    update = std::make_unique<OptimizerUpdate>(*optimizer_, scaler, engine_->gradients);
  return std::make_shared<TrainStep>(engine_, call, std::move(pass), std::move(update), effect);
}

StepProbe StepRunner::rehearse(const std::vector<std::int64_t>& rows) {
  for (const Device d : engine_->devices)
    begin_peak(logical_device(d));
  const auto step = take(ranges_of(rows), nullptr, TrainStep::Effect::none).step;
  StepProbe probe{.rows = rows, .peak_bytes = {}};
  for (const Call::Part& part : step->call().parts) {
    probe.peak_bytes.push_back(peak_of_step(logical_device(part.device())));
    probe.ms.push_back(std::chrono::duration<double, std::milli>(part.work_time).count());
  }
  return probe;
}

}  // namespace tandem::parallel
