// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Measures the table of src/kernels/product_table.inl for this machine, and prints it as it stands
// there: for each form and size of a product the rates of oneDNN and of OpenBLAS on one thread. For
// a lesser processor than this one:
//   TANDEM_CPU_CAPABILITY=avx2 OPENBLAS_CORETYPE=Haswell product_table
//   TANDEM_CPU_CAPABILITY=default OPENBLAS_CORETYPE=Nehalem product_table

#include "kernels/product_table.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/cpu_capability.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "kernels/gemm.hpp"
#include "kernels/onednn/fast_path.hpp"
#include "tensor/view_of.hpp"

namespace tandem::bench {
namespace {

using kernels::ProductForm;
using kernels::ProductSize;

struct Product {
  std::int64_t count, m, n, k;
};

/// Products of networks: perceptrons, blocks of transformers, heads of classifiers.
std::vector<Product> products_of(ProductSize size) {
  switch (size) {
    case ProductSize::batched:
      return {{64, 128, 128, 64}, {64, 128, 64, 128}, {16, 512, 64, 512}};
    case ProductSize::vector:
      return {{1, 1, 1024, 1024}, {1, 1, 4096, 1024}};
    case ProductSize::short_sum:
      return {{1, 512, 1024, 10}, {1, 2048, 256, 16}};
    case ProductSize::few_rows:
      return {{1, 8, 4096, 1024}, {1, 10, 1024, 512}, {1, 16, 1024, 4096}};
    case ProductSize::few_columns:
      return {{1, 512, 10, 1024}, {1, 4096, 16, 1024}};
    case ProductSize::large:
      break;
  }
  return {{1, 512, 1024, 784},
          {1, 1024, 784, 512},
          {1, 2048, 768, 256},
          {1, 2048, 256, 1024},
          {1, 256, 1024, 2048},
          {1, 1024, 256, 2048},
          {1, 1024, 1024, 1024}};
}

/// A factor of `rows` x `cols` that lies in memory as it is, or transposed.
Tensor factor(const Product& p, std::int64_t rows, std::int64_t cols, bool transposed) {
  if (p.count == 1) return transposed ? randn({cols, rows}).t() : randn({rows, cols});
  return transposed ? randn({p.count, cols, rows}).transpose(-1, -2) : randn({p.count, rows, cols});
}

/// The best of some calls, in GFLOP/s.
template <class F>
double rate(const Product& p, const F& f) {
  using Clock = std::chrono::steady_clock;
  const double flops = 2.0 * static_cast<double>(p.count * p.m * p.n * p.k);
  const int calls = std::clamp(static_cast<int>(2e10 / flops), 5, 500);
  double best = 0;
  for (int i = 0; i < calls; ++i) {
    const auto begin = Clock::now();
    f();
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, flops / took.count() / 1e9);
  }
  return best;
}

struct Rates {
  double onednn = 0, openblas = 0;
};

Rates measure(const Product& p, ProductForm form) {
  const Tensor a = factor(p, p.m, p.k, form == ProductForm::tn);
  const Tensor b = factor(p, p.k, p.n, form == ProductForm::nt);
  const Tensor c = p.count == 1 ? zeros({p.m, p.n}) : zeros({p.count, p.m, p.n});
  const HostStream native{a.device(), 1, KernelPath::native};
  return {rate(p,
               [&] {
                 kernels::onednn::matmul(
                     {a.device(), 1, KernelPath::fastest}, view_of(a), view_of(b), {}, view_of(c));
               }),
          rate(p, [&] { kernels::matmul(native, view_of(a), view_of(b), {}, view_of(c)); })};
}

void print_row(ProductForm form, ProductSize size) {
  double onednn = 0, openblas = 0;  // logarithms
  const std::vector<Product> products = products_of(size);
  for (const Product& p : products) {
    const Rates rates = measure(p, form);
    onednn += std::log(rates.onednn);
    openblas += std::log(rates.openblas);
  }
  const auto mean = [&](double sum) {
    return std::exp(sum / static_cast<double>(products.size()));
  };
  std::printf("    {%s, %s, %.1fF, %.1fF},\n",
              std::string(name(form)).c_str(),
              std::string(name(size)).c_str(),
              mean(onednn),
              mean(openblas));
}

void run() {
  const autograd::NoGrad off;
  std::printf("// %s\n", std::string(name(get_cpu_capability())).c_str());
  for (const auto& row : kernels::product_table(get_cpu_capability()))
    print_row(row.form, row.size);
}

}  // namespace
}  // namespace tandem::bench

int main() {
  tandem::bench::run();
}
