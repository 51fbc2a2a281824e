// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What it costs to watch, and to see that nobody does: steps of about a millisecond on two virtual
// devices, with and without observers. The ways take turns, step by step, so that the machine's
// moods are all's.

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <benchmark/benchmark.h>

#include "tandem/core/percentile.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/profile/memory_profile.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace {

using namespace tandem;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kWidth = 128, kRows = 256;

struct Net : nn::Module {
  std::vector<nn::Linear> layers;
  Net() {
    for (int i = 0; i < 6; ++i)
      layers.emplace_back(kWidth, kWidth);
  }
  Tensor forward(const Tensor& x) {
    Tensor y = x;
    for (nn::Linear& layer : layers)
      y = relu(layer(y));
    return y;
  }
  TANDEM_MODULE(Net, layers)
};

using Batch = std::vector<Tensor>;

/// Counts what a step would tell.
class Count final : public Observer {
 public:
  void on_memory(const MemoryEvent&) noexcept override { ++events; }
  void on_copy(const CopyEvent&) noexcept override { ++events; }
  void on_work_begin(const Work&, const Stream&) noexcept override { ++events; }
  void on_work_end(const Work&, const Stream&) noexcept override { ++events; }
  void on_read(const char*, Device, std::size_t) noexcept override { ++events; }

  std::atomic<int> events{0};
};

/// Nanoseconds that it takes to see that nobody watches.
double check_ns() {
  constexpr int kTimes = 1'000'000;
  const auto start = Clock::now();
  for (int i = 0; i < kTimes; ++i)
    benchmark::DoNotOptimize(Runtime::instance().observers());
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / kTimes;
}

/// Nobody watches, or who sees the work, the memory, or both.
void BM_Step(benchmark::State& state) {
  const std::vector<Device> devices = configure_devices("cpu:2");
  Net net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 1e-3});
  parallel::DataParallel dp(net, {.devices = devices});
  const Batch batch{randn({kRows, kWidth}), randint(0, kWidth, {kRows})};
  const auto step = [&] {
    dp.step(
        batch,
        [](Net& m, const Batch& part) { return cross_entropy_sum(m(part[0]), part[1]); },
        &optimizer);
  };
  for (int i = 0; i < 50; ++i)
    step();
  std::array<std::vector<double>, 4> times;  // us, by who watches
  for (auto _ : state) {
    for (std::size_t watched = 0; watched < 4; ++watched) {
      std::optional<profile::StepRecorder> work;
      std::optional<profile::MemoryRecorder> memory;
      std::vector<std::unique_ptr<Subscription>> subscriptions;
      if ((watched & 1) != 0)
        subscriptions.push_back(std::make_unique<Subscription>(work.emplace()));
      if ((watched & 2) != 0)
        subscriptions.push_back(std::make_unique<Subscription>(memory.emplace(devices)));
      const auto start = Clock::now();
      step();
      times[watched].push_back(
          std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }
  constexpr std::array kNames{"unwatched_us", "work_us", "memory_us", "both_us"};
  for (std::size_t watched = 0; watched < 4; ++watched)
    state.counters[kNames[watched]] = percentile(times[watched], 0.5);
  Count count;
  {
    const Subscription subscription(count);
    step();
  }
  state.counters["events"] = count.events.load();
  state.counters["check_ns"] = check_ns();
}

BENCHMARK(BM_Step)->Iterations(500)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
