// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// all_reduce among virtual devices of the host: latency of small messages, bandwidth of large ones.
//
// Roofline: the ranks share one memory. An all_reduce of P bytes over n ranks in place reads n P
// and writes n P, so algbw <= B / (2 n) for P beyond the caches, where B is the memory bandwidth of
// the machine: the figure of BM_CopyBound, whose one thread per rank reads P and writes P.
//
// algbw = P / t; busbw = algbw * 2 (n - 1) / n, as nccl-tests defines it. p50 and p99 are of single
// calls on rank 0. Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include <benchmark/benchmark.h>

#include "tandem/comm/group.hpp"
#include "tandem/core/percentile.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace {

using tandem::Tensor;
using tandem::comm::Communicator;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Ranks on virtual devices, each with a tensor of its own.
class Ranks {
 public:
  Ranks(int ranks, std::int64_t count) {
    std::vector<tandem::Device> devices;
    for (int r = 0; r < ranks; ++r)
      devices.push_back({tandem::DeviceType::cpu, r});
    comms_ = tandem::comm::make_group(devices);
    for (const tandem::Device d : devices)
      tensors_.push_back(tandem::full({count}, d.index + 1, {.device = d}));
  }

  int size() const { return static_cast<int>(comms_.size()); }

  /// Runs f(comm, tensor) on each device's worker, at the same time.
  template <class F>
  void run(F f) {
    std::vector<tandem::Ticket> tickets;
    for (std::size_t r = 0; r < comms_.size(); ++r) {
      tickets.push_back(tandem::logical_device(comms_[r]->device()).worker().submit([&f, r, this] {
        f(*comms_[r], tensors_[r]);
      }));
    }
    for (tandem::Ticket& ticket : tickets)
      ticket.wait();
  }

  /// @throws std::runtime_error  an all_reduce of 1, 2, ... n does not give their sum.
  void verify() {
    const double sum = 0.5 * size() * (size() + 1);
    run([&](Communicator& comm, const Tensor& x) {
      comm.all_reduce(x);
      const std::vector<float> values = x.to_host<float>();
      if (!std::ranges::all_of(values, [&](float v) { return v == sum; }))
        throw std::runtime_error("all_reduce gives a wrong sum");
    });
  }

 private:
  std::vector<std::unique_ptr<Communicator>> comms_;
  std::vector<Tensor> tensors_;
};

/// Args: ranks, bytes of each rank's tensor.
void BM_AllReduce(benchmark::State& state) {
  const auto nbytes = static_cast<double>(state.range(1));
  Ranks ranks(static_cast<int>(state.range(0)), state.range(1) / 4);
  ranks.verify();
  // A hand-over to the workers costs more than a small all_reduce: many calls for each.
  const int calls = std::clamp(static_cast<int>(4e6 / nbytes), 4, 1000);
  std::vector<double> times;
  for (auto _ : state) {
    double total = 0;
    ranks.run([&](Communicator& comm, const Tensor& x) {
      comm.barrier();
      for (int i = 0; i < calls; ++i) {
        const auto start = Clock::now();
        comm.all_reduce(x, tandem::comm::ReduceOp::avg);
        if (comm.rank() != 0) continue;
        times.push_back(Seconds(Clock::now() - start).count());
        total += times.back();
      }
    });
    state.SetIterationTime(total / calls);
  }
  const double t = tandem::percentile(times, 0.5);
  const auto n = static_cast<double>(ranks.size());
  state.counters["algbw_GB/s"] = nbytes / t * 1e-9;
  state.counters["busbw_GB/s"] = nbytes / t * 1e-9 * 2 * (n - 1) / n;
  state.counters["p50_us"] = t * 1e6;
  state.counters["p99_us"] = tandem::percentile(times, 0.99) * 1e6;
}
BENCHMARK(BM_AllReduce)
    ->ArgNames({"ranks", "bytes"})
    ->ArgsProduct({{2, 4}, {4, 1 << 10, 64 << 10, 1 << 20, 4 << 20, 32 << 20}})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

/// Each rank copies its bytes to another place: what the memory allows.
void BM_CopyBound(benchmark::State& state) {
  const auto nbytes = static_cast<std::size_t>(state.range(1));
  Ranks ranks(static_cast<int>(state.range(0)), state.range(1) / 4);
  std::vector<Tensor> targets;
  for (int r = 0; r < ranks.size(); ++r)
    targets.push_back(
        tandem::full({state.range(1) / 4}, 0, {.device = {tandem::DeviceType::cpu, r}}));
  for (auto _ : state) {
    const auto start = Clock::now();
    ranks.run([&](Communicator& comm, const Tensor& x) {
      std::memcpy(targets[static_cast<std::size_t>(comm.rank())].data(), x.data(), nbytes);
    });
    state.SetIterationTime(Seconds(Clock::now() - start).count());
  }
  state.counters["moved_GB"] = benchmark::Counter(2e-9 * static_cast<double>(nbytes) * ranks.size(),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_CopyBound)
    ->ArgNames({"ranks", "bytes"})
    ->ArgsProduct({{2, 4}, {32 << 20}})
    ->Iterations(20)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
