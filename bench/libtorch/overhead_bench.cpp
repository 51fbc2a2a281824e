// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What the wrapper of PyTorch's modules, its virtual devices and the exchange of tensors cost.
// Compare figures of one run only, with --benchmark_enable_random_interleaving.

#include <algorithm>
#include <barrier>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include <benchmark/benchmark.h>
#include <torch/torch.h>

#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/libtorch/devices.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"
#include "tandem/tensor/factories.hpp"

#include "libtorch/modules/module_changes.hpp"
#include "libtorch/modules/replica_scope.hpp"
#include "parallel/update/mode_rules.hpp"

namespace tandem::bench {
namespace {

struct StackImpl : torch::nn::Module {
  StackImpl(int count, std::int64_t width) {
    for (int i = 0; i < count; ++i)
      layers->push_back(torch::nn::Linear(width, width));
  }
  at::Tensor forward(const at::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers = register_module("layers", torch::nn::Sequential());
};
TORCH_MODULE(Stack);

struct Batch {
  at::Tensor x, y;
  TANDEM_FIELDS(x, y)
};

constexpr auto loss_of = [](auto& net, const Batch& batch) {
  return torch::cross_entropy_loss(net.forward(batch.x), batch.y);
};

Batch make_batch(std::int64_t rows, std::int64_t width, c10::Device device = at::kCPU) {
  return {torch::randn({rows, width}).to(device), torch::randint(width, {rows}).to(device)};
}

/// Threads of a program's own, one a replica, which each run the job once when asked.
class Threads {
 public:
  Threads(int count, std::function<void(int)> job)
      : begin_(count + 1), end_(count + 1), job_(std::move(job)) {
    for (int i = 0; i < count; ++i)
      threads_.emplace_back([this, i](std::stop_token stop) {
        at::set_num_threads(1);
        for (;;) {
          begin_.arrive_and_wait();
          if (stop.stop_requested()) return;
          job_(i);
          end_.arrive_and_wait();
        }
      });
  }
  ~Threads() {
    for (std::jthread& thread : threads_)
      thread.request_stop();
    begin_.arrive_and_wait();
  }
  void run() {
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
  }

 private:
  std::barrier<> begin_, end_;
  std::function<void(int)> job_;
  std::vector<std::jthread> threads_;
};

constexpr int kLayers = 10;
constexpr std::int64_t kWidth = 8, kRows = 8;

/// A module, forward, loss and backward on each of some threads, then the optimizer. Nothing is
/// exchanged, checked or undone: what the wrapper's own work is measured against. range(0):
/// threads.
void BM_BareReplicas(benchmark::State& state, bool on_devices) {
  libtorch::register_devices(8);
  std::vector<Stack> nets;
  std::vector<Batch> parts;
  const auto count = static_cast<int>(state.range(0));
  for (int i = 0; i < count; ++i) {
    const c10::Device device =
        on_devices ? libtorch::torch_device({DeviceType::cpu, i}) : c10::Device(at::kCPU);
    nets.emplace_back(kLayers, kWidth);
    nets.back()->to(device);
    parts.push_back(make_batch(kRows / count, kWidth, device));
  }
  torch::optim::SGD optimizer(nets[0]->parameters(), 1e-3);
  Threads threads(count, [&](int i) {
    const auto k = static_cast<std::size_t>(i);
    nets[k]->zero_grad();
    loss_of(*nets[k], parts[k]).backward();
  });
  for (auto _ : state) {
    threads.run();
    optimizer.step();
  }
}

/// A module of some layers on virtual devices.
libtorch::DataParallel<StackImpl> on_devices(const Stack& net,
                                             std::int64_t count,
                                             parallel::Mode mode = parallel::Mode::sharded) {
  const auto layers = static_cast<int>(net->layers->size());
  const std::int64_t width = net->parameters().front().size(0);
  return libtorch::DataParallel<StackImpl>(
      net,
      {.devices = configure_devices("cpu:" + std::to_string(count)), .mode = mode},
      {.make = [=] { return std::make_shared<StackImpl>(layers, width); }});
}

/// range(0): devices.
template <parallel::Mode kMode>
void BM_Step(benchmark::State& state) {
  Stack net(kLayers, kWidth);
  torch::optim::SGD optimizer(net->parameters(), 1e-3);
  auto dp = on_devices(net, state.range(0), kMode);
  const Batch batch = make_batch(kRows, kWidth);
  for (auto _ : state)
    dp.step(batch, loss_of, optimizer);
}

void BM_LossOnTheOutputs(benchmark::State& state) {
  Stack net(kLayers, kWidth);
  torch::optim::SGD optimizer(net->parameters(), 1e-3);
  auto dp = on_devices(net, 2);
  const Batch batch = make_batch(kRows, kWidth);
  for (auto _ : state) {
    optimizer.zero_grad();
    torch::cross_entropy_loss(dp(batch.x), batch.y).backward();
    optimizer.step();
  }
}

/// One step of ten layers without tandem's wrapper, on one device. range(0): the width, and rows.
void BM_OneDevice(benchmark::State& state, bool on_tandem) {
  libtorch::register_devices(8);
  const c10::Device device =
      on_tandem ? libtorch::torch_device({DeviceType::cpu, 0}) : c10::Device(at::kCPU);
  const std::int64_t width = state.range(0);
  Stack net(kLayers, width);
  net->to(device);
  torch::optim::SGD optimizer(net->parameters(), 1e-3);
  const Batch batch = make_batch(width, width, device);
  for (auto _ : state) {
    optimizer.zero_grad();
    loss_of(*net, batch).backward();
    optimizer.step();
  }
}

constexpr int kLargeLayers = 6;
constexpr std::int64_t kLargeWidth = 2048, kLargeRows = 512;

void BM_LargeStep(benchmark::State& state) {
  Stack net(kLargeLayers, kLargeWidth);
  torch::optim::SGD optimizer(net->parameters(), 1e-3);
  auto dp = on_devices(net, 2);
  const Batch batch = make_batch(kLargeRows, kLargeWidth);
  for (auto _ : state)
    dp.step(batch, loss_of, optimizer);
}

/// What a step does of it to find changes of the module that nobody told tandem of.
void BM_LargeFollow(benchmark::State& state) {
  libtorch::register_devices(8);
  const std::vector<Device> devices = configure_devices("cpu:2");
  Stack net(kLargeLayers, kLargeWidth);
  std::vector<std::shared_ptr<libtorch::TorchSource>> sources;
  for (const Device device : devices) {
    const auto copy = std::make_shared<StackImpl>(kLargeLayers, kLargeWidth);
    libtorch::TorchSource::Ops ops{libtorch::BatchNorms(*copy, {}, {}), {}, nullptr};
    sources.push_back(std::make_shared<libtorch::TorchSource>(
        sources.empty() ? net.ptr() : nullptr, copy, device, std::move(ops)));
  }
  using Replicas = std::vector<std::shared_ptr<parallel::ReplicaSource>>;
  const parallel::ReplicaSet set(Replicas(sources.begin(), sources.end()),
                                 devices,
                                 parallel::DataParallelOptions{.devices = devices},
                                 parallel::rules_of(parallel::Mode::sharded));
  for (const auto& source : sources) {
    libtorch::await_tensors(*source);
    source->settle();
  }
  // After a step all devices have the same bytes, and count the same writes.
  for (std::size_t i = 0; i < sources.back()->slots().size(); ++i) {
    const Tensor &first = sources.front()->slots()[i].shown,
                 &last = sources.back()->slots()[i].shown;
    std::memcpy(last.data(), first.data(), last.nbytes());
    while (version_of(first) != version_of(last))
      libtorch::count_write(version_of(first) < version_of(last) ? first : last);
  }
  libtorch::ModuleChanges changes(sources);
  for (auto _ : state) {
    benchmark::DoNotOptimize(libtorch::ModuleChanges::has_same_tensors(*net, *sources.front()));
    sources.front()->follow_mode(*net);
    changes.tell_tandem();
    changes.find_unseen();
  }
}

void BM_ToTorch(benchmark::State& state) {
  const Tensor x = ones({8, 8}, {.device = Device{DeviceType::cpu, 0}});
  for (auto _ : state)
    benchmark::DoNotOptimize(libtorch::to_torch(x));
}

void BM_FromTorch(benchmark::State& state) {
  const at::Tensor x = torch::ones({8, 8});
  for (auto _ : state)
    benchmark::DoNotOptimize(libtorch::from_torch(x));
}

void small(benchmark::internal::Benchmark* b) {
  b->UseRealTime()->Unit(benchmark::kMicrosecond);
}

void by_devices(benchmark::internal::Benchmark* b) {
  small(b);
  b->RangeMultiplier(2)->Range(1, kRows);
}

BENCHMARK_CAPTURE(BM_BareReplicas, cpu, false)->Apply(by_devices);
BENCHMARK_CAPTURE(BM_BareReplicas, tandem, true)->Apply(by_devices);
BENCHMARK(BM_Step<parallel::Mode::classic>)->Apply(by_devices);
BENCHMARK(BM_Step<parallel::Mode::server>)->Apply(by_devices);
BENCHMARK(BM_Step<parallel::Mode::sharded>)->Apply(by_devices);
BENCHMARK(BM_Step<parallel::Mode::ddp>)->Apply(by_devices);
BENCHMARK(BM_LossOnTheOutputs)->Apply(small);
BENCHMARK_CAPTURE(BM_OneDevice, cpu, false)->Arg(64)->Arg(256)->Apply(small);
BENCHMARK_CAPTURE(BM_OneDevice, tandem, true)->Arg(64)->Arg(256)->Apply(small);
BENCHMARK(BM_LargeStep)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_LargeFollow)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_ToTorch)->UseRealTime();
BENCHMARK(BM_FromTorch)->UseRealTime();

}  // namespace
}  // namespace tandem::bench

BENCHMARK_MAIN();
