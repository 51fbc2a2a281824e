// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Matrix products, native (OpenBLAS, cut among threads) and fastest (oneDNN in f32). Roofline:
// `of_gemm` is the share of OpenBLAS's rate on 1024 x 1024 x 1024 with the same threads. Sizes are
// those of a 784-1024-1024-10 perceptron at batch 512, and small ones.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include "tandem/ops/linalg.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

void run(benchmark::State& state, DType dtype) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  const auto path = static_cast<KernelPath>(state.range(3));
  const int threads = static_cast<int>(state.range(4));
  const Tensor x = randn({m, k}, {.dtype = dtype}), weight = randn({n, k}, {.dtype = dtype});
  Tensor wanted;
  {
    const Setting setting(KernelPath::native, 1);
    wanted = linear(x, weight);
  }
  const Setting setting(path, threads);
  verify(linear(x, weight), wanted, "linear");
  measure(state, [&] { return linear(x, weight); });
  count_flops(state, 2.0 * static_cast<double>(m * n * k), threads);
  state.SetLabel(label(path));
}

void BM_LinearF32(benchmark::State& state) {
  run(state, DType::f32);
}
void BM_LinearF64(benchmark::State& state) {
  run(state, DType::f64);
}

void sizes(benchmark::internal::Benchmark* b, std::initializer_list<KernelPath> paths) {
  b->ArgNames({"m", "n", "k", "path", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const KernelPath path : paths) {
    for (const std::int64_t threads : {1, 2}) {
      const auto p = static_cast<std::int64_t>(path);
      b->Args({512, 1024, 784, p, threads})
          ->Args({512, 1024, 1024, p, threads})
          ->Args({512, 10, 1024, p, threads})
          ->Args({2048, 2048, 2048, p, threads});
      b->Args({128, 128, 128, p, threads})->Args({32, 32, 32, p, threads});
    }
  }
}

BENCHMARK(BM_LinearF32)->Apply([](auto* b) {
  sizes(b, {KernelPath::native, KernelPath::fastest});
});
BENCHMARK(BM_LinearF64)->Apply([](auto* b) { sizes(b, {KernelPath::native}); });

}  // namespace
}  // namespace tandem::bench
