// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The convolutions of the benchmark network (3 x 32 x 32, channels 32-32-64-64-128, batch 128),
// forward and both gradients, native (im2col and OpenBLAS) and fastest (oneDNN), f32,
// channels-last. Roofline: `of_gemm` is the share of OpenBLAS's rate on a large product with the
// same threads.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include <functional>

#include "tandem/ops/conv.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

constexpr std::int64_t kBatch = 128;
constexpr Conv2dOptions kOptions{.padding = {1, 1}};

struct Layer {
  Tensor x, weight, dy;

  explicit Layer(const benchmark::State& state)
      : x(last(randn({kBatch, state.range(0), state.range(2), state.range(2)}))),
        weight(randn({state.range(1), state.range(0), 3, 3})),
        dy(last(randn({kBatch, state.range(1), state.range(2), state.range(2)}))) {}

  static Tensor last(const Tensor& t) { return t.contiguous(MemoryFormat::channels_last); }
  double flops() const { return 2.0 * static_cast<double>(dy.numel() * weight.size(1) * 9); }
};

void run(benchmark::State& state, const std::function<Tensor(const Layer&)>& op) {
  const auto path = static_cast<KernelPath>(state.range(3));
  const int threads = static_cast<int>(state.range(4));
  const Layer layer(state);
  Tensor wanted;
  {
    const Setting setting(KernelPath::native, 1);
    wanted = op(layer);
  }
  const Setting setting(path, threads);
  verify(op(layer), wanted, "conv2d");
  measure(state, [&] { return op(layer); });
  count_flops(state, layer.flops(), threads);
  state.SetLabel(label(path));
}

void BM_Conv2d(benchmark::State& state) {
  run(state, [](const Layer& l) { return conv2d(l.x, l.weight, {}, kOptions); });
}
void BM_Conv2dInputGrad(benchmark::State& state) {
  run(state,
      [](const Layer& l) { return conv2d_input_grad(l.dy, l.weight, l.x.shape(), kOptions); });
}
void BM_Conv2dWeightGrad(benchmark::State& state) {
  run(state,
      [](const Layer& l) { return conv2d_weight_grad(l.dy, l.x, l.weight.shape(), kOptions); });
}

void conv_layers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"in", "out", "side", "path", "threads"})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  for (const KernelPath path : {KernelPath::native, KernelPath::fastest}) {
    for (const std::int64_t threads : {1, 2}) {
      const auto p = static_cast<std::int64_t>(path);
      b->Args({3, 32, 32, p, threads})
          ->Args({32, 32, 32, p, threads})
          ->Args({32, 64, 16, p, threads});
      b->Args({64, 64, 16, p, threads})->Args({64, 128, 8, p, threads});
    }
  }
}

BENCHMARK(BM_Conv2d)->Apply(conv_layers);
BENCHMARK(BM_Conv2dInputGrad)->Apply(conv_layers);
BENCHMARK(BM_Conv2dWeightGrad)->Apply(conv_layers);

}  // namespace
}  // namespace tandem::bench
