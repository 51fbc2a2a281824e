// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Batch norm with ReLU, training, f32: forward, and forward with backward. Roofline: memory.
// Forward reads x twice and writes y; backward reads x and dy twice and writes dx.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/batch_norm.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

constexpr double kEps = 1e-5;

Tensor norm_input(const benchmark::State& state) {
  const auto format = static_cast<MemoryFormat>(state.range(2));
  return randn({128, state.range(0), state.range(1), state.range(1)}).contiguous(format);
}

Tensor norm_relu(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return batch_norm(x, weight, bias, kEps, BatchNormSync::per_replica, NormActivation::relu).y;
}

void BM_BatchNormRelu(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const Tensor x = norm_input(state), weight = ones({x.size(1)}), bias = zeros({x.size(1)});
  verify(norm_relu(x, weight, bias), relu(batch_norm(x, weight, bias, kEps).y), "batch_norm");
  measure(state, [&] { return norm_relu(x, weight, bias); });
  count_bytes(state, 3.0 * static_cast<double>(x.nbytes()));
}

void BM_BatchNormReluBackward(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(3)));
  const autograd::EnableGrad on;
  const Tensor x = norm_input(state).requires_grad_(), dy = norm_input(state);
  const Tensor weight = ones({x.size(1)}).requires_grad_(),
               bias = zeros({x.size(1)}).requires_grad_();
  measure(state, [&] {
    return autograd::grad({norm_relu(x, weight, bias)}, {x, weight, bias}, {dy})[0];
  });
  count_bytes(state, 8.0 * static_cast<double>(x.nbytes()));
}

void norm_layers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"channels", "side", "channels_last", "threads"})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  for (const std::int64_t format : {1, 0}) {
    for (const std::int64_t threads : {1, 2}) {
      b->Args({32, 32, format, threads})
          ->Args({64, 16, format, threads})
          ->Args({128, 8, format, threads});
    }
  }
}

BENCHMARK(BM_BatchNormRelu)->Apply(norm_layers);
BENCHMARK(BM_BatchNormReluBackward)->Apply(norm_layers);

}  // namespace
}  // namespace tandem::bench
