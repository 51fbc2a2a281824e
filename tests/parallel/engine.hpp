// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "parallel/replicas/module/calls.hpp"
#include "parallel/replicas/step/drift_check.hpp"
#include "parallel/replicas/step/non_finite_check.hpp"
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

/// Modules on a few devices with their replicas, and what runs jobs on the devices' threads.
struct TestReplicas {
  explicit TestReplicas(int n, Mode mode = Mode::server)
      : list(testing::devices(n)),
        modules(list.size()),
        rules(rules_of(mode)),
        groups(list, {.timeout = std::chrono::seconds(20), .backend = testing::backend()}),
        runner(list, {.deadline = std::chrono::seconds(20)}) {
    for (std::size_t d = 0; d < list.size(); ++d) {
      modules[d].to(list[d]);
      replicas.push_back(std::make_unique<DeviceReplica>(static_cast<int>(d), list[d], modules[d]));
    }
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

/// What an Engine is made with; name the fields.
struct EngineOptions {
  int devices = 2;
  Mode mode = Mode::server;
  std::vector<BufferRule> buffers = {};
  NonFiniteCheck::Options non_finite{.loss = NonFinite::error, .gradients = NonFinite::off};
  std::int64_t drift_every = 0;
};

/// All parts of a wrapper, with a bucket for each parameter.
struct Engine : TestReplicas {
  explicit Engine(const EngineOptions& o)
      : TestReplicas(o.devices, o.mode),
        wrapped(pointers(), list.front()),
        parameters(replicas, rules, {1, 1}),
        buffers(replicas, rules, o.buffers),
        gradients(replicas,
                  parameters,
                  rules,
                  runner,
                  [this](Phase phase, const Job& job) { return on_all_devices(phase, job); }),
        calls({replicas, wrapped, parameters, buffers, gradients, groups, runner}),
        non_finite(replicas, gradients, o.non_finite),
        drift(o.drift_every) {
    wrapped.note_training(parameters.arena());
    gradients.complete_on_reading(owner);
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

  const std::shared_ptr<const void> owner = std::make_shared<const int>(0);
  WrappedModule wrapped;
  ModuleParameters parameters;
  ModuleBuffers buffers;
  ModuleGradients gradients;
  Calls calls;
  NonFiniteCheck non_finite;
  DriftCheck drift;

 private:
  std::vector<nn::Module*> pointers() {
    std::vector<nn::Module*> all;
    for (Affine& module : modules)
      all.push_back(&module);
    return all;
  }
};

}  // namespace tandem::parallel::test
