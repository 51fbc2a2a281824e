// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What DataParallel costs: a step of ten tiny layers on 1, 2, 4 and 8 virtual devices, where the
// kernels take next to nothing, against the replicas run by hand.
//
// BM_BareReplicas: a module on each device, forward, loss and backward on its worker, one hand-over
// each; then the optimizer on the first. Nothing is exchanged, checked or undone: it is what the
// wrapper's own work is measured against. p50 and p99 are of single steps.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tandem/core/percentile.hpp"
#include "tandem/nn/activation.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace {

using namespace tandem;
using Clock = std::chrono::steady_clock;

constexpr int kLayers = 10;
constexpr std::int64_t kWidth = 8, kRows = 8;

struct Net : nn::Module {
  std::vector<nn::Linear> layers;
  Net() {
    for (int i = 0; i < kLayers; ++i)
      layers.emplace_back(kWidth, kWidth);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (nn::Linear& layer : layers)
      y = layer(y);
    return y;
  }
  TANDEM_MODULE(Net, layers)
};

using Batch = std::vector<Tensor>;

WeightedSum loss_of(Net& net, const Batch& part) {
  return cross_entropy_sum(net(part[0]), part[1]);
}

Batch make_batch(std::int64_t rows, Device device) {
  return {randn({rows, kWidth}, {.device = device}), randint(0, kWidth, {rows}).to(device)};
}

/// As many as the benchmark's argument says.
std::vector<Device> devices_of(const benchmark::State& state) {
  return configure_devices("cpu:" + std::to_string(state.range(0)));
}

/// Times single calls of `step`.
template <class F>
void measure(benchmark::State& state, F step) {
  for (int i = 0; i < 200; ++i)
    step();
  std::vector<double> times;
  for (auto _ : state) {
    const auto start = Clock::now();
    step();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    state.SetIterationTime(times.back() * 1e-6);
  }
  state.counters["p50_us"] = percentile(times, 0.5);
  state.counters["p99_us"] = percentile(times, 0.99);
}

void BM_BareReplicas(benchmark::State& state) {
  const std::vector<Device> devices = devices_of(state);
  Net net;
  std::vector<Net> replicas{net};
  for (std::size_t r = 1; r < devices.size(); ++r)
    replicas.push_back(nn::replicate(net, devices[r]));
  std::vector<Batch> parts;
  for (const Device d : devices)
    parts.push_back(make_batch(kRows / state.range(0), d));
  optim::SGD optimizer(net.named_parameters(), {.lr = 1e-3});
  measure(state, [&] {
    std::vector<Ticket> tickets;
    for (std::size_t r = 0; r < devices.size(); ++r) {
      const ContextScope scope([](Context& c) { c.threads = 1; });
      tickets.push_back(logical_device(devices[r]).worker().submit([&, r] {
        replicas[r].zero_grad();
        const WeightedSum loss = loss_of(replicas[r], parts[r]);
        (loss.sum / loss.weight).backward();
        if (r == 0) optimizer.step();
      }));
    }
    for (Ticket& ticket : tickets)
      ticket.wait();
  });
}

template <parallel::Mode kMode>
void BM_LossInTheReplica(benchmark::State& state) {
  const std::vector<Device> devices = devices_of(state);
  Net net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 1e-3});
  parallel::DataParallel dp(net, {.devices = devices, .mode = kMode});
  const Batch batch = make_batch(kRows, devices[0]);
  measure(state, [&] { dp.step(batch, loss_of, &optimizer); });
}

template <parallel::Mode kMode>
void BM_LossOnTheOutputs(benchmark::State& state) {
  const std::vector<Device> devices = devices_of(state);
  Net net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 1e-3});
  parallel::DataParallel dp(net, {.devices = devices, .mode = kMode});
  const Batch batch = make_batch(kRows, devices[0]);
  measure(state, [&] {
    optimizer.zero_grad();
    cross_entropy(dp(batch[0]), batch[1]).backward();
    optimizer.step();
  });
}

void steps(benchmark::internal::Benchmark* b) {
  b->Iterations(5000)->UseManualTime()->Unit(benchmark::kMicrosecond);
  b->RangeMultiplier(2)->Range(1, kRows);
}

BENCHMARK(BM_BareReplicas)->Apply(steps);
BENCHMARK(BM_LossInTheReplica<parallel::Mode::classic>)->Apply(steps);
BENCHMARK(BM_LossInTheReplica<parallel::Mode::server>)->Apply(steps);
BENCHMARK(BM_LossInTheReplica<parallel::Mode::sharded>)->Apply(steps);
BENCHMARK(BM_LossInTheReplica<parallel::Mode::ddp>)->Apply(steps);
BENCHMARK(BM_LossOnTheOutputs<parallel::Mode::classic>)->Apply(steps);
BENCHMARK(BM_LossOnTheOutputs<parallel::Mode::server>)->Apply(steps);
BENCHMARK(BM_LossOnTheOutputs<parallel::Mode::sharded>)->Apply(steps);

}  // namespace

BENCHMARK_MAIN();
