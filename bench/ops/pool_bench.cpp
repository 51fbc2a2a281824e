// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// 2 x 2 pooling, f32. Roofline: memory; reads x and writes a quarter of it, twice that for maxima
// with their indices.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include "tandem/ops/pool.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

Tensor input(const benchmark::State& state) {
  const auto format = static_cast<MemoryFormat>(state.range(2));
  return randn({128, state.range(0), state.range(1), state.range(1)}).contiguous(format);
}

void BM_MaxPool2d(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const Tensor x = input(state);
  verify(max_pool2d(x, {2, 2}), max_pool2d(x.contiguous(), {2, 2}), "max_pool2d");
  for (auto _ : state)
    benchmark::DoNotOptimize(max_pool2d(x, {2, 2}).data());
  count_bytes(state, 1.5 * static_cast<double>(x.nbytes()));
}

void BM_AvgPool2d(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const Tensor x = input(state);
  verify(avg_pool2d(x, {2, 2}), avg_pool2d(x.contiguous(), {2, 2}), "avg_pool2d");
  for (auto _ : state)
    benchmark::DoNotOptimize(avg_pool2d(x, {2, 2}).data());
  count_bytes(state, 1.25 * static_cast<double>(x.nbytes()));
}

void layers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"channels", "side", "channels_last", "threads"})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  for (const std::int64_t format : {1, 0}) {
    for (const std::int64_t threads : {1, 2})
      b->Args({32, 32, format, threads})->Args({64, 16, format, threads});
  }
}

BENCHMARK(BM_MaxPool2d)->Apply(layers);
BENCHMARK(BM_AvgPool2d)->Apply(layers);

}  // namespace
}  // namespace tandem::bench
