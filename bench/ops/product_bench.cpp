// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The three products of a linear layer by their forms, which name the factors as BLAS does (t: read
// transposed): nt is forward, x @ weight.t(); nn the gradient of x, dy @ weight; tn that of the
// weight, dy.t() @ x. BM_Product/form:nn/type:bf16/m:4096/n:768/k:50257/row:50304 is m x k by k x
// n, and a row of the left factor begins `row` elements behind the one before. Roofline: `of_gemm`
// as in gemm_bench.cpp.
//
// On a GPU: the layers of GPT-2 on 4 x 1,024 tokens in bf16, whose head has rows of the odd 50,257
// elements, or of 50,304; and 8192 x 8192 x 8192, the roof of all of them. On both devices: small
// ones.

#include "product_bench.hpp"

#include <array>
#include <string>

#include "tandem/ops/linalg.hpp"
#include "tandem/tensor/factories.hpp"

#include "roofline.hpp"

namespace tandem::bench {
namespace {

/// C (m x n) = A B. A row of what A is stored in has `row` elements.
struct Product {
  const char* form;
  DType dtype;
  std::int64_t m, n, k, row;
};

/// x (rows, in) @ weight (out, in).t(); a row of the gradient of its result has `row` elements.
struct LinearLayer {
  std::int64_t rows, out, in, row;
};

constexpr std::array<LinearLayer, 6> kGpt2Layers{{{4096, 2304, 768, 2304},
                                                  {4096, 768, 768, 768},
                                                  {4096, 3072, 768, 3072},
                                                  {4096, 768, 3072, 768},
                                                  {4096, 50257, 768, 50257},
                                                  {4096, 50257, 768, 50304}}};
constexpr std::array<LinearLayer, 3> kSmallLayers{
    {{64, 128, 64, 128}, {64, 257, 64, 257}, {64, 257, 64, 320}}};
constexpr LinearLayer kPerceptronLayer{512, 1024, 784, 1024};

std::string title(const Product& p, int threads) {
  std::string text = std::string("BM_Product/form:") + p.form + "/type:" + name(p.dtype);
  text += "/m:" + std::to_string(p.m) + "/n:" + std::to_string(p.n) + "/k:" + std::to_string(p.k);
  return text + "/row:" + std::to_string(p.row) + "/threads:" + std::to_string(threads);
}

/// The first `columns` of rows of `row` elements.
Tensor rows_of(std::int64_t rows, std::int64_t columns, std::int64_t row, DType dtype) {
  return randn({rows, row}).to(dtype).narrow(1, 0, columns);
}

void run_product(benchmark::State& state, const Product& p, int threads) {
  const Setting setting(KernelPath::fastest, threads);
  const bool first = p.form[0] == 't', second = p.form[1] == 't';
  const Tensor a =
      first ? rows_of(p.k, p.m, p.row, p.dtype).t() : rows_of(p.m, p.k, p.row, p.dtype);
  const Tensor b = second ? rows_of(p.n, p.k, p.k, p.dtype).t() : rows_of(p.k, p.n, p.n, p.dtype);
  measure(state, [&] { return matmul(a, b); });
  count_flops(state, 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k), threads);
}

void add_product(const Product& p, int threads) {
  benchmark::RegisterBenchmark(
      title(p, threads).c_str(),
      [p, threads](benchmark::State& state) { run_product(state, p, threads); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

/// A layer of longer rows multiplies forward as one with so many outputs.
void add_layer(const LinearLayer& l, DType dtype, int threads) {
  add_product(Product{"nt", dtype, l.rows, l.row, l.in, l.in}, threads);
  add_product(Product{"nn", dtype, l.rows, l.in, l.out, l.row}, threads);
  add_product(Product{"tn", dtype, l.out, l.in, l.rows, l.row}, threads);
}

}  // namespace

void register_products(Device device) {
  for (const LinearLayer& layer : kSmallLayers)
    add_layer(layer, DType::f32, 1);
  if (device.type == DeviceType::cpu) {
    for (const int threads : {1, 2})
      add_layer(kPerceptronLayer, DType::f32, threads);
    return;
  }
  add_product(Product{"nn", DType::bf16, 8192, 8192, 8192, 8192}, 1);
  for (const LinearLayer& layer : kGpt2Layers)
    add_layer(layer, DType::bf16, 1);
}

}  // namespace tandem::bench
