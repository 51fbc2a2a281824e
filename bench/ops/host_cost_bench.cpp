// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What an op costs the host besides its arithmetic: ops on 16 numbers. On a GPU only the queueing
// is timed. Over the stand-in for a GPU it includes what the stand-in does for each call.

#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

constexpr std::int64_t kSide = 4;

/// Times `op`, whose kernels are waited for while the clock stands.
template <class Op>
void measure_host(benchmark::State& state, const Op& op) {
  const Setting setting(KernelPath::fastest, 1);
  constexpr int kCalls = 200;
  op();
  synchronize();
  for (auto _ : state) {
    for (int i = 0; i < kCalls; ++i)
      benchmark::DoNotOptimize(op().data());
    state.PauseTiming();
    synchronize();
    state.ResumeTiming();
  }
  state.counters["an op"] = benchmark::Counter(
      kCalls, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_HostCostAdd(benchmark::State& state) {
  const Tensor a = randn({kSide, kSide}), b = randn({kSide, kSide});
  measure_host(state, [&] { return a + b; });
}
void BM_HostCostAddInPlace(benchmark::State& state) {
  Tensor a = randn({kSide, kSide});
  const Tensor b = randn({kSide, kSide});
  measure_host(state, [&] { return a.add_(b); });
}
void BM_HostCostRelu(benchmark::State& state) {
  const Tensor a = randn({kSide, kSide});
  measure_host(state, [&] { return relu(a); });
}
void BM_HostCostMatmul(benchmark::State& state) {
  const Tensor a = randn({kSide, kSide}), b = randn({kSide, kSide});
  measure_host(state, [&] { return matmul(a, b); });
}

BENCHMARK(BM_HostCostAdd);
BENCHMARK(BM_HostCostAddInPlace);
BENCHMARK(BM_HostCostRelu);
BENCHMARK(BM_HostCostMatmul);

}  // namespace
}  // namespace tandem::bench
