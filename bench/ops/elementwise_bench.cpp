// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A copy, relu and add in f32, and f32 to and from types of 16 bits. Roofline: memory; the copy is
// the roof of the others.
//
// Run with --benchmark_out=FILE --benchmark_out_format=json for JSON.

#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

/// An op that reads `inputs` tensors and writes one.
template <class Op>
void run(benchmark::State& state, int inputs, const Op& op) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(1)));
  const Tensor x = randn({state.range(0)}), y = randn({state.range(0)});
  measure(state, [&] { return op(x, y); });
  count_bytes(state, (inputs + 1) * static_cast<double>(x.nbytes()));
}

void BM_Copy(benchmark::State& state) {
  run(state, 1, [](const Tensor& x, const Tensor&) { return x.clone(); });
}
void BM_Relu(benchmark::State& state) {
  run(state, 1, [](const Tensor& x, const Tensor&) { return relu(x); });
}
void BM_Add(benchmark::State& state) {
  run(state, 2, [](const Tensor& x, const Tensor& y) { return x + y; });
}

template <DType From, DType To>
void BM_To(benchmark::State& state) {
  const Setting setting(KernelPath::fastest, static_cast<int>(state.range(1)));
  const Tensor x = randn({state.range(0)}).to(From);
  measure(state, [&] { return x.to(To); });
  count_bytes(state, static_cast<double>(state.range(0) * (itemsize(From) + itemsize(To))));
}

void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"n", "threads"})->UseRealTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t threads : {1, 2})
    b->Args({1 << 20, threads})->Args({1 << 26, threads});
}

BENCHMARK(BM_Copy)->Apply(sizes);
BENCHMARK(BM_Relu)->Apply(sizes);
BENCHMARK(BM_Add)->Apply(sizes);
BENCHMARK(BM_To<DType::bf16, DType::f32>)->Apply(sizes);
BENCHMARK(BM_To<DType::f16, DType::f32>)->Apply(sizes);
BENCHMARK(BM_To<DType::f32, DType::bf16>)->Apply(sizes);
BENCHMARK(BM_To<DType::f32, DType::f16>)->Apply(sizes);

}  // namespace
}  // namespace tandem::bench
