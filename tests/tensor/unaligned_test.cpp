// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory of other libraries is aligned to its elements only, where tandem's own blocks are to 256
// bytes. Ops take it, stay within it, and give the same bits.

#include <cstring>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/attention.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/cumsum.hpp"
#include "tandem/ops/embedding.hpp"
#include "tandem/ops/layer_norm.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/linear_gelu.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/sort.hpp"
#include "tandem/tensor/factories.hpp"

#include "foreign_tensor.hpp"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;
using Op = std::function<Tensor(const Tensors&)>;

/// `x`, which is dense, in memory that begins `skipped` elements after an aligned address and ends
/// with its last element.
Tensor displaced(const Tensor& x, std::size_t skipped) {
  const std::size_t before = skipped * itemsize(x.dtype());
  const auto memory = std::make_shared<std::unique_ptr<char[]>>(new char[before + x.nbytes()]);
  char* const data = memory->get() + before;
  std::memcpy(data, x.data(), x.nbytes());
  auto buffer = std::make_shared<Buffer>(
      x.device(),
      AdoptedMemory{.data = data, .nbytes = x.nbytes(), .give_back = [memory] { memory->reset(); }},
      Category::input);
  return from_buffer(std::move(buffer), 0, x.shape(), x.strides(), x.dtype());
}

void expect_same_bits(const Tensor& got, const Tensor& expected, const char* name, std::size_t at) {
  ASSERT_EQ(got.shape(), expected.shape()) << name;
  const Tensor a = got.contiguous();
  const Tensor b = expected.contiguous();
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.nbytes()), 0)
      << name << " of " << got.dtype() << ", " << at << " elements after an aligned address:\n"
      << got << "\nexpected\n"
      << expected;
}

/// Runs `op`, forward and for the gradients, on `inputs` at each place within a vector register.
void expect_takes_any_place(const char* name, const Op& op, const Tensors& inputs) {
  const auto run = [&](const std::function<Tensor(const Tensor&)>& place) {
    Tensors placed;
    for (const Tensor& x : inputs) {
      placed.push_back(place(x));
      if (is_float(x.dtype())) placed.back().requires_grad_();
    }
    Tensor y = op(placed);
    Tensors results{y.detach()};
    if (y.requires_grad()) {
      y.backward(place(full(y.shape(), 0.5, {.dtype = y.dtype()})));
      for (const Tensor& x : placed)
        if (x.grad().defined()) results.push_back(x.grad());
    }
    return results;
  };
  const Tensors expected = run([](const Tensor& x) { return x.clone(); });
  for (const std::size_t skipped : {1, 2, 3, 5, 8, 15}) {
    const Tensors got = run([&](const Tensor& x) { return displaced(x, skipped); });
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      expect_same_bits(got[i], expected[i], name, skipped);
  }
}

constexpr DType kFloats[] = {DType::f32, DType::f64, DType::bf16, DType::f16};

struct UnalignedTest : testing::HostTest {};

TEST_F(UnalignedTest, ElementwiseOpsAndReductionsTakeIt) {
  for (const DType t : kFloats) {
    const Tensor x = randn({7, 37}, {.dtype = t});
    const Tensor row = randn({37}, {.dtype = t});
    expect_takes_any_place("add", [](auto& a) { return add(a[0], a[1]); }, {x, x});
    expect_takes_any_place("mul of a row", [](auto& a) { return mul(a[0], a[1]); }, {x, row});
    expect_takes_any_place("of a transposed", [](auto& a) { return mul(a[0].t(), 3); }, {x});
    expect_takes_any_place("gelu", [](auto& a) { return gelu(a[0]); }, {x});
    expect_takes_any_place("sum", [](auto& a) { return a[0].sum(); }, {x});
    expect_takes_any_place("sum of rows", [](auto& a) { return a[0].sum({1}); }, {x});
    expect_takes_any_place("sum of columns", [](auto& a) { return a[0].sum({0}); }, {x});
    expect_takes_any_place("amax", [](auto& a) { return amax(a[0], {1}); }, {x});
    expect_takes_any_place("cumsum", [](auto& a) { return cumsum(a[0], 1); }, {x});
    expect_takes_any_place("softmax", [](auto& a) { return softmax(a[0], 1); }, {x});
    expect_takes_any_place(
        "layer_norm", [](auto& a) { return layer_norm(a[0], {37}, a[1], a[1]); }, {x, row});
    expect_takes_any_place("to", [](auto& a) { return a[0].to(DType::f64); }, {x});
  }
}

TEST_F(UnalignedTest, ProductsTakeIt) {
  for (const DType t : kFloats) {
    const Tensor x = randn({33, 65}, {.dtype = t});
    const Tensor w = randn({19, 65}, {.dtype = t});
    const Tensor b = randn({19}, {.dtype = t});
    expect_takes_any_place("matmul", [](auto& a) { return matmul(a[0], a[1].t()); }, {x, w});
    expect_takes_any_place("t", [](auto& a) { return matmul(a[0].t(), a[1]); }, {x, x});
    expect_takes_any_place("linear", [](auto& a) { return linear(a[0], a[1], a[2]); }, {x, w, b});
    expect_takes_any_place(
        "linear_gelu", [](auto& a) { return linear_gelu(a[0], a[1], a[2]); }, {x, w, b});
    const Tensor q = randn({2, 3, 9, 8}, {.dtype = t});
    expect_takes_any_place("attention",
                           [](auto& a) { return scaled_dot_product_attention(a[0], a[1], a[2]); },
                           {q, q, q});
  }
}

TEST_F(UnalignedTest, ConvolutionsAndPoolsTakeIt) {
  for (const DType t : kFloats) {
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      const Tensor x = randn({2, 5, 9, 11}, {.dtype = t}).contiguous(format);
      for (const std::int64_t channels : {7, 16}) {  // of 16, whole vectors are read in place
        const Tensor w = randn({channels, 5, 3, 3}, {.dtype = t}).contiguous(format);
        const Tensor b = randn({channels}, {.dtype = t});
        expect_takes_any_place("conv2d",
                               [](auto& a) {
                                 return conv2d(a[0], a[1], a[2], {.padding = {1, 1}});
                               },
                               {x, w, b});
      }
      expect_takes_any_place("max_pool2d", [](auto& a) { return max_pool2d(a[0], {3, 3}); }, {x});
      expect_takes_any_place("avg_pool2d", [](auto& a) { return avg_pool2d(a[0], {2, 2}); }, {x});
    }
  }
}

TEST_F(UnalignedTest, IndicesTakeIt) {
  const Tensor index = tensor<std::int64_t>({4, 0, 2, 2, 1});
  const Tensor weight = randn({5, 21});
  expect_takes_any_place(
      "embedding", [](auto& a) { return embedding(a[0], a[1]); }, {index, weight});
  expect_takes_any_place(
      "cross_entropy", [](auto& a) { return cross_entropy(a[1], a[0]); }, {index, randn({5, 21})});
  expect_takes_any_place("argsort", [](auto& a) { return argsort(a[0]); }, {weight});
}

TEST_F(UnalignedTest, OpsWriteToIt) {
  for (const DType t : kFloats) {
    const Tensor x = randn({7, 37}, {.dtype = t});
    for (const std::size_t skipped : {1, 3, 8}) {
      Tensor y = displaced(x, skipped);
      y.add_(x, 2).mul_(3);
      expect_same_bits(y, x.clone().add_(x, 2).mul_(3), "add_", skipped);
      y.copy_(x);
      expect_same_bits(y, x, "copy_", skipped);
      expect_same_bits(y.fill_(3), full(x.shape(), 3, {.dtype = t}), "fill_", skipped);
    }
  }
}

}  // namespace
}  // namespace tandem
