// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::bench {

/// FLOP/s of a large f32 matrix product through OpenBLAS on `threads` threads: the roof of all that
/// is GEMM-shaped.
double gemm_roof(int threads);

/// Context of a benchmark: no tape, kernels on `threads` threads by `path`.
class Setting {
 public:
  Setting(KernelPath path, int threads);

 private:
  ContextScope scope_;
};

/// Calls of an op between two looks at the clock: one on the host; many on a GPU, which are queued,
/// and waited for once.
int calls_an_iteration();
void synchronize();

/// Times `op`, which returns a tensor.
template <class Op>
void measure(benchmark::State& state, const Op& op) {
  const int calls = calls_an_iteration();
  for (auto _ : state) {
    for (int i = 0; i < calls; ++i)
      benchmark::DoNotOptimize(op().data());
    synchronize();
  }
}

/// Reports FLOP/s of ops of `flops` each, and as `of_gemm` their share of gemm_roof (a rate too:
/// the "/s" behind it is none).
void count_flops(benchmark::State& state, double flops, int threads);
/// Reports bytes/s of ops that read and write `nbytes` each.
void count_bytes(benchmark::State& state, double nbytes);

/// Throws std::runtime_error where the elements of `a` and `b` differ by more than 1e-4 of the
/// largest.
void verify(const Tensor& a, const Tensor& b, const char* what);

/// "native" or "fastest".
const char* label(KernelPath path);

}  // namespace tandem::bench
