// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The convolutions of the benchmark network (3 x 32 x 32, channels 32-32-64-64-128, batch 128) and
// of ResNet-50 (224 x 224, batch 8), forward and both gradients, native and fastest, f32,
// channels-last. Roofline: `of_gemm` is the share of OpenBLAS's rate on a large product with the
// same threads.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include <functional>
#include <vector>

#include "tandem/ops/conv.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

/// Square images and windows; the padding leaves a stride of 1 the image's size.
struct Sizes {
  std::int64_t batch, in, out, side, kernel, stride;

  explicit Sizes(const benchmark::State& state)
      : batch(state.range(0)),
        in(state.range(1)),
        out(state.range(2)),
        side(state.range(3)),
        kernel(state.range(4)),
        stride(state.range(5)) {}
  std::int64_t out_side() const { return (side - 1) / stride + 1; }
};

struct Layer {
  Tensor x, weight, dy;
  Conv2dOptions options;

  explicit Layer(const Sizes& z)
      : x(last(randn({z.batch, z.in, z.side, z.side}))),
        weight(randn({z.out, z.in, z.kernel, z.kernel})),
        dy(last(randn({z.batch, z.out, z.out_side(), z.out_side()}))),
        options{.stride = {z.stride, z.stride}, .padding = {z.kernel / 2, z.kernel / 2}} {}

  static Tensor last(const Tensor& t) { return t.contiguous(MemoryFormat::channels_last); }
  double flops() const {
    return 2.0 * static_cast<double>(dy.numel() * weight.numel() / weight.size(0));
  }
};

void run(benchmark::State& state, const std::function<Tensor(const Layer&)>& op) {
  const auto path = static_cast<KernelPath>(state.range(6));
  const int threads = static_cast<int>(state.range(7));
  const Layer layer{Sizes(state)};
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
  run(state, [](const Layer& l) { return conv2d(l.x, l.weight, {}, l.options); });
}
void BM_Conv2dInputGrad(benchmark::State& state) {
  run(state,
      [](const Layer& l) { return conv2d_input_grad(l.dy, l.weight, l.x.shape(), l.options); });
}
void BM_Conv2dWeightGrad(benchmark::State& state) {
  run(state,
      [](const Layer& l) { return conv2d_weight_grad(l.dy, l.x, l.weight.shape(), l.options); });
}

/// {batch, in, out, side, kernel, stride} of the benchmark network, then of ResNet-50.
const std::vector<std::vector<std::int64_t>> kLayers{
    {128, 3, 32, 32, 3, 1},   {128, 32, 32, 32, 3, 1},  {128, 32, 64, 16, 3, 1},
    {128, 64, 64, 16, 3, 1},  {128, 64, 128, 8, 3, 1},  {8, 3, 64, 224, 7, 2},
    {8, 64, 64, 56, 1, 1},    {8, 64, 64, 56, 3, 1},    {8, 64, 256, 56, 1, 1},
    {8, 256, 64, 56, 1, 1},   {8, 256, 128, 56, 1, 1},  {8, 128, 128, 56, 3, 2},
    {8, 128, 128, 28, 3, 1},  {8, 128, 512, 28, 1, 1},  {8, 256, 512, 56, 1, 2},
    {8, 512, 128, 28, 1, 1},  {8, 512, 256, 28, 1, 1},  {8, 256, 256, 28, 3, 2},
    {8, 256, 256, 14, 3, 1},  {8, 256, 1024, 14, 1, 1}, {8, 512, 1024, 28, 1, 2},
    {8, 1024, 256, 14, 1, 1}, {8, 1024, 512, 14, 1, 1}, {8, 512, 512, 14, 3, 2},
    {8, 512, 512, 7, 3, 1},   {8, 512, 2048, 7, 1, 1},  {8, 1024, 2048, 14, 1, 2},
    {8, 2048, 512, 7, 1, 1}};

void conv_layers(benchmark::internal::Benchmark* b) {
  b->ArgNames({"batch", "in", "out", "side", "kernel", "stride", "path", "threads"})
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
  for (const KernelPath path : {KernelPath::native, KernelPath::fastest}) {
    for (const std::int64_t threads : {1, 2}) {
      for (std::vector<std::int64_t> layer : kLayers) {
        layer.push_back(static_cast<std::int64_t>(path));
        layer.push_back(threads);
        b->Args(layer);
      }
    }
  }
}

BENCHMARK(BM_Conv2d)->Apply(conv_layers);
BENCHMARK(BM_Conv2dInputGrad)->Apply(conv_layers);
BENCHMARK(BM_Conv2dWeightGrad)->Apply(conv_layers);

}  // namespace
}  // namespace tandem::bench
