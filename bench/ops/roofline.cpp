// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "roofline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tandem/ops/linalg.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::bench {

Setting::Setting(KernelPath path, int threads)
    : scope_([&](Context& c) {
        c.grad_enabled = false;
        c.path = path;
        c.threads = threads;
      }) {}

double gemm_roof(int threads) {
  static std::map<int, double> known;  // benchmarks run on one thread
  double& roof = known[threads];
  if (roof > 0) return roof;
  constexpr std::int64_t kSide = 1024;
  const Setting setting(KernelPath::native, threads);
  const Tensor a = randn({kSide, kSide}), b = randn({kSide, kSide});
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    matmul(a, b);
    synchronize();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    roof = std::max(roof, 2.0 * kSide * kSide * kSide / seconds.count());
  }
  return roof;
}

int calls_an_iteration() {
  return get_default_device().type == DeviceType::cpu ? 1 : 50;
}

void synchronize() {
  logical_device(get_default_device()).stream().synchronize();
}

void count_flops(benchmark::State& state, double flops, int threads) {
  const double all = flops * static_cast<double>(state.iterations() * calls_an_iteration());
  state.counters["FLOP/s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["of_gemm"] =
      benchmark::Counter(all / gemm_roof(threads), benchmark::Counter::kIsRate);
}

void count_bytes(benchmark::State& state, double nbytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(nbytes) *
                          static_cast<std::int64_t>(state.iterations()) * calls_an_iteration());
}

void verify(const Tensor& a, const Tensor& b, const char* what) {
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    off = std::max(off, std::abs(x.at(i) - y[i]));
  }
  if (!(off <= 1e-4 * largest)) throw std::runtime_error(std::string(what) + ": the paths differ");
}

const char* label(KernelPath path) {
  return path == KernelPath::native ? "native" : "fastest";
}

}  // namespace tandem::bench
