// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "parallel/replicas/step/engine.hpp"
#include "parallel/update/update_sharing.hpp"

// The parts of a wrapper, put together by hand for the tests of one of them.
namespace tandem::parallel::test {

inline constexpr std::int64_t kColumns = 24;  ///< of Affine, which two or three devices share

/// y = x * weight + bias by columns. In training it notes the rows that it sees.
struct Affine : nn::Module {
  nn::Parameter weight = arange(1, kColumns + 1, 1, {.dtype = DType::f64});
  nn::Parameter bias = full({1}, 0.5, {.dtype = DType::f64});
  nn::BufferTensor seen = zeros({2}, {.dtype = DType::f64});  ///< the last row's number, twice
  nn::BufferTensor count = full({}, 100, {.dtype = DType::i64});
  Tensor forward(const Tensor& x) {
    if (is_training()) {
      const autograd::NoGrad off;
      seen.copy_(x.select(0, x.size(0) - 1).narrow(0, 0, 2));
      count.add_(full(
          {}, static_cast<double>(x.size(0)), {.dtype = DType::i64, .device = count.device()}));
    }
    return x * weight + bias;
  }
  TANDEM_MODULE(Affine, weight, bias, seen, count)
};

/// Rows of a batch whose row r has r + 1 in all columns.
inline Tensor numbered_rows(RowRange rows, Device device) {
  const auto first = static_cast<double>(rows.begin + 1);
  const Tensor numbers =
      arange(first, static_cast<double>(rows.end + 1), 1, {.dtype = DType::f64, .device = device});
  return numbers.unsqueeze(1).expand({rows.size(), kColumns});
}

/// Modules on a few devices, the first of which is the original.
struct TestModules {
  explicit TestModules(int n) : list(testing::devices(n)), modules(list.size()) {
    for (std::size_t d = 0; d < list.size(); ++d)
      modules[d].to(list[d]);
  }

  ReplicaSources sources() {
    std::vector<nn::Module*> all;
    for (Affine& module : modules)
      all.push_back(&module);
    return sources_of(all);
  }
  Affine& module_of(const Call::Part& part) {
    return modules[static_cast<std::size_t>(part.index())];
  }
  /// The sum of a replica's outputs, whose weight is the sum of its rows' numbers. Of the rows 0 to
  /// 3 the sum is 3048 and the weight 10, so that the mean has a gradient of 1 for each weight, and
  /// of 9.6 for the bias.
  WeightedSum loss_of(const Replica& replica) {
    const Tensor x = numbered_rows(replica.rows, replica.device);
    return {sum(modules[static_cast<std::size_t>(replica.index)](x)), sum(x.select(1, 0))};
  }
  /// Goes forward and backward through the sum of a replica's outputs.
  void backward(Call::Part& part) {
    if (BucketReducer* reducer = part.replica->reducer()) reducer->begin_backward();
    if (part.active) sum(module_of(part)(numbered_rows(part.rows, part.device()))).backward();
  }

  std::vector<Device> list;
  std::vector<Affine> modules;
};

/// Modules with their replicas, and what runs jobs on the devices' threads.
struct TestReplicas : TestModules {
  explicit TestReplicas(int n, Mode mode = Mode::server)
      : TestModules(n),
        rules(rules_of(mode)),
        groups(list, {.timeout = std::chrono::seconds(20), .backend = testing::backend()}),
        runner(list, {.deadline = std::chrono::seconds(20)}) {
    for (std::size_t d = 0; d < list.size(); ++d)
      replicas.push_back(std::make_unique<DeviceReplica>(static_cast<int>(d), list[d], modules[d]));
  }

  using Members = ReplicaGroups::Members;
  using Job = std::function<void(Call& call, Call::Part& part)>;

  std::shared_ptr<Call> make_call(const std::vector<RowRange>& rows,
                                  Members members = Members::active) {
    return std::make_shared<Call>(replicas, rows, groups.get(rows, members));
  }
  std::shared_ptr<Call> make_call_everywhere() {
    return make_call(std::vector<RowRange>(list.size()), Members::all);
  }
  /// Runs `job` on the thread of each device of the call.
  void run(const std::shared_ptr<Call>& call, Phase phase, const Job& job) {
    runner.run(call, phase, [call, job](Call::Part& part) { job(*call, part); });
  }
  /// What ModuleGradients runs jobs with.
  std::shared_ptr<Call> on_all_devices(Phase phase, const Job& job) {
    const auto call = make_call_everywhere();
    run(call, phase, job);
    return call;
  }

  const ModeRules& rules;
  ReplicaGroups groups;
  CallRunner runner;
  Replicas replicas;
};

/// The update of a mode in which all devices take part, with a bucket for each parameter.
struct SharedUpdate : TestReplicas {
  SharedUpdate(int n, Mode mode)
      : TestReplicas(n, mode),
        parameters(replicas, rules, {1, 1}),
        update(rules.make_update({.arenas = parameters.arenas(),
                                  .buckets = parameters.gradient_buckets(),
                                  .on_devices = [this](const auto& job) { on_devices(job); },
                                  .reduce = [this] { ++reductions; }})) {}

  void on_devices(const std::function<void(int device)>& job) {
    on_all_devices(Phase::update, [job](Call&, Call::Part& part) { job(part.index()); });
  }
  /// The flat gradients of a device.
  Tensor gradients(int device) const {
    return parameters.arenas()[static_cast<std::size_t>(device)]->grads(0);
  }
  /// The flat values of a device.
  Tensor values(int device) const {
    return parameters.arenas()[static_cast<std::size_t>(device)]->params(0);
  }

  ModuleParameters parameters;
  int reductions = 0;  ///< how often the update asked for one
  std::shared_ptr<ParameterUpdate> update;
};

/// What a TestEngine is made with; name the fields.
struct EngineOptions {
  int devices = 2;
  Mode mode = Mode::server;
  std::vector<BufferRule> buffers = {};
  Checks checks = {};
  std::optional<ChunkPolicy> chunks = std::nullopt;
  OnOutOfMemory on_oom = OnOutOfMemory::error;
  std::int64_t accumulate = 1;
  std::int64_t bitwise_leaves = 0;
};

/// A wrapper's engine over modules that it may outlive, with a bucket for each parameter.
struct TestEngine : TestModules {
  explicit TestEngine(const EngineOptions& o)
      : TestModules(o.devices),
        engine(std::make_shared<Engine>(sources(),
                                        list,
                                        DataParallelOptions{.mode = o.mode,
                                                            .chunks = o.chunks,
                                                            .on_oom = o.on_oom,
                                                            .accumulate = o.accumulate,
                                                            .bitwise_leaves = o.bitwise_leaves,
                                                            .buffers = o.buffers,
                                                            .checks = o.checks,
                                                            .deadline = std::chrono::seconds(20),
                                                            .backend = testing::backend(),
                                                            .exchange = {1, 1}},
                                        rules_of(o.mode))) {
    gradients.complete_on_reading(engine);
  }
  TestEngine(const TestEngine&) = delete;
  TestEngine& operator=(const TestEngine&) = delete;

  using Members = ReplicaGroups::Members;

  std::shared_ptr<Call> make_call(const std::vector<RowRange>& rows,
                                  Members members = Members::active) {
    return std::make_shared<Call>(engine->replicas, rows, engine->groups.get(rows, members));
  }
  std::shared_ptr<Call> make_call_everywhere() {
    return make_call(std::vector<RowRange>(list.size()), Members::all);
  }
  void run(const std::shared_ptr<Call>& call, Phase phase, const Engine::Job& job) {
    engine->run(call, phase, job);
  }
  /// Sends parameters and buffers as a call does.
  void send(Call& call, Call::Part& part) {
    parameters.send(call, part);
    buffers.send(call, part);
    parameters.end_send(call, part);
  }
  /// Opens a call of a step whose batch is cut into these micro-batches, each given by its rows.
  std::shared_ptr<Call> open_step(const std::vector<RowRange>& rows,
                                  const std::vector<std::vector<RowRange>>& micro_batches) {
    const auto call = calls.open(rows);
    for (const std::vector<RowRange>& part : micro_batches)
      call->micro_batches.push_back({part, &calls.group_for(part)});
    return call;
  }
  /// Gives all devices the values of device 0.
  void send_everywhere() {
    const auto call = calls.open_everywhere();
    run(call, Phase::replicate, [this](Call& c, Call::Part& part) { send(c, part); });
    calls.commit(*call);
  }

  const std::shared_ptr<Engine> engine;
  ModuleParameters& parameters = engine->parameters;
  ModuleBuffers& buffers = engine->buffers;
  ModuleGradients& gradients = engine->gradients;
  Calls& calls = engine->calls;
  NonFiniteCheck& non_finite = engine->non_finite;
  DriftCheck& drift = engine->drift;
  CallRunner& runner = engine->runner;
  CallGate& gate = engine->gate;
};

}  // namespace tandem::parallel::test
