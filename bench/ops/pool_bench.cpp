// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// 2 x 2 pooling, f32. Roofline: memory; reads x and writes a quarter of it, twice that for maxima
// with their indices.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

MemoryFormat format_of(const benchmark::State& state) {
  return static_cast<MemoryFormat>(state.range(2));
}

Tensor pool_input(const benchmark::State& state) {
  return randn({128, state.range(0), state.range(1), state.range(1)}, {.format = format_of(state)});
}

void BM_MaxPool2d(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const Tensor x = pool_input(state);
  verify(max_pool2d(x, {2, 2}), max_pool2d(x.contiguous(), {2, 2}), "max_pool2d");
  measure(state, [&] { return max_pool2d(x, {2, 2}); });
  count_bytes(state, 1.5 * static_cast<double>(x.nbytes()));
}

void BM_AvgPool2d(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const Tensor x = pool_input(state);
  verify(avg_pool2d(x, {2, 2}), avg_pool2d(x.contiguous(), {2, 2}), "avg_pool2d");
  measure(state, [&] { return avg_pool2d(x, {2, 2}); });
  count_bytes(state, 1.25 * static_cast<double>(x.nbytes()));
}

/// Backward: reads dy (and for maxima their indices), writes dx.
template <class Pool>
void run_backward(benchmark::State& state, Pool pool, double nbytes_of_x) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const autograd::EnableGrad on;
  const Tensor x = pool_input(state).requires_grad_();
  const Tensor y = pool(x), dy = randn(y.shape()).contiguous(format_of(state));
  const auto grad = [](const Tensor& of, const Tensor& at, const Tensor& seed) {
    return autograd::grad({of}, {at}, {seed}, {.retain_graph = true})[0];
  };
  const Tensor rows = x.detach().contiguous().requires_grad_();
  verify(grad(y, x, dy), grad(pool(rows), rows, dy.contiguous()), "pooling's gradient");
  measure(state, [&] { return grad(y, x, dy); });
  count_bytes(state, nbytes_of_x * static_cast<double>(x.nbytes()));
}

void BM_MaxPool2dGrad(benchmark::State& state) {
  run_backward(
      state,
      [](const Tensor& x) {
        return max_pool2d(x, {2, 2});
      },
      1.5);
}

void BM_AvgPool2dGrad(benchmark::State& state) {
  run_backward(
      state,
      [](const Tensor& x) {
        return avg_pool2d(x, {2, 2});
      },
      1.25);
}

void pool_layers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"channels", "side", "channels_last", "threads"})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  for (const std::int64_t format : {1, 0}) {
    for (const std::int64_t threads : {1, 2})
      b->Args({32, 32, format, threads})->Args({64, 16, format, threads});
  }
}

BENCHMARK(BM_MaxPool2d)->Apply(pool_layers);
BENCHMARK(BM_AvgPool2d)->Apply(pool_layers);
BENCHMARK(BM_MaxPool2dGrad)->Apply(pool_layers);
BENCHMARK(BM_AvgPool2dGrad)->Apply(pool_layers);

}  // namespace
}  // namespace tandem::bench
