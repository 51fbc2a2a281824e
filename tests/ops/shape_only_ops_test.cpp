// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Each op, forward and backward, takes the bytes on a shape-only device that it takes with data,
// its kernels' workspace among them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/attention.hpp"
#include "tandem/ops/batch_norm.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/conv1d.hpp"
#include "tandem/ops/conv_transpose2d.hpp"
#include "tandem/ops/cumsum.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/ops/embedding.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/layer_norm.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/linear_gelu.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/pool.hpp"
#include "tandem/ops/random.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/sort.hpp"
#include "tandem/ops/tril.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem {
namespace {

using Inputs = std::vector<Tensor>;

struct OpCase {
  std::string name;
  std::vector<Shape> shapes;  // of inputs with gradients
  std::function<Tensor(const Inputs&)> op;
};

Tensor labels(std::int64_t classes, const Shape& shape) {
  return randint(0, classes, shape);
}

std::vector<OpCase> value_cases() {
  const Shape s{33, 17};
  std::vector<OpCase> cases{
      {"add", {s, {17}}, [](const Inputs& x) { return x[0] + x[1]; }},
      {"div", {s, s}, [](const Inputs& x) { return x[0] / x[1]; }},
      {"pow", {s}, [](const Inputs& x) { return pow(abs(x[0]) + 1, 1.5); }},
      {"pow of tensors", {s, s}, [](const Inputs& x) { return pow(abs(x[0]) + 1, x[1]); }},
      {"clamp", {s}, [](const Inputs& x) { return clamp(x[0], -1, 1); }},
      {"maximum", {s, s}, [](const Inputs& x) { return maximum(x[0], x[1]); }},
      {"where", {s, s}, [](const Inputs& x) { return where(gt(x[0], 0.), x[0], x[1]); }},
      {"masked_fill", {s}, [](const Inputs& x) { return masked_fill(x[0], isfinite(x[0]), 1); }},
      {"dropout", {s}, [](const Inputs& x) { return dropout(x[0], 0.3); }},
      {"tril", {s}, [](const Inputs& x) { return tril(x[0]) + triu(x[0]); }},
      {"leaky_relu", {s}, [](const Inputs& x) { return leaky_relu(x[0]) + elu(x[0]); }},
      {"softplus", {s}, [](const Inputs& x) { return softplus(x[0]); }},
      {"to", {s}, [](const Inputs& x) { return x[0].t().contiguous(); }},
      {"bernoulli", {s}, [](const Inputs& x) { return x[0] * bernoulli(sigmoid(x[0].detach())); }},
  };
  const auto add = [&](const char* name, Tensor (*op)(const Tensor&)) {
    cases.push_back({name, {s}, [op](const Inputs& x) { return op(x[0]); }});
  };
  add("relu", relu), add("tanh", tanh), add("sigmoid", sigmoid), add("silu", silu);
  add("logsigmoid", logsigmoid), add("exp", exp), add("square", square), add("erf", erf);
  add("neg", neg), add("sin", sin), add("sign", sign);
  cases.push_back({"gelu", {s}, [](const Inputs& x) { return gelu(x[0], Gelu::tanh); }});
  return cases;
}

std::vector<OpCase> reduction_cases() {
  const Shape s{33, 700};
  return {
      {"sum", {s}, [](const Inputs& x) { return sum(x[0], {1}) + sum(x[0]); }},
      {"var", {s}, [](const Inputs& x) { return var(x[0]); }},
      {"amax", {s}, [](const Inputs& x) { return amax(x[0], {0}); }},
      {"max", {s}, [](const Inputs& x) { return max(x[0], 1).values; }},
      {"argmax", {s}, [](const Inputs& x) { return x[0] * argmax(x[0], 0).to(x[0].dtype()); }},
      {"logsumexp", {s}, [](const Inputs& x) { return logsumexp(x[0], {1}); }},
      {"softmax", {s}, [](const Inputs& x) { return softmax(x[0], 1) + log_softmax(x[0], 0); }},
      {"cumsum", {s}, [](const Inputs& x) { return cumsum(x[0], 1); }},
      {"topk", {s}, [](const Inputs& x) { return topk(x[0], 40).values; }},
      {"sort", {s}, [](const Inputs& x) { return sort(x[0], 0).values; }},
      {"global_norm", {s}, [](const Inputs& x) { return x[0] * global_norm({x[0].detach()}); }},
      {"layer_norm",
       {s, {700}, {700}},
       [](const Inputs& x) { return layer_norm(x[0], {700}, x[1], x[2]); }},
      {"group_norm",
       {{5, 6, 8, 8}, {6}, {6}},
       [](const Inputs& x) { return group_norm(x[0], 3, x[1], x[2]); }},
  };
}

std::vector<OpCase> index_cases() {
  const Shape s{33, 17};
  return {
      {"cat",
       {s, s},
       [](const Inputs& x) {
         return cat({x[0], x[1]}, 1);
       }},
      {"split",
       {s},
       [](const Inputs& x) {
         return split(x[0], {20, 13})[1];
       }},
      {"slice", {s}, [](const Inputs& x) { return x[0].narrow(0, 3, 9).select(1, 4); }},
      {"index_select",
       {s},
       [](const Inputs& x) { return index_select(x[0], 0, labels(33, {12})); }},
      {"gather",
       {s},
       [](const Inputs& x) {
         return gather(x[0], 1, labels(17, {33, 4}));
       }},
      {"embedding",
       {{50, 16}},
       [](const Inputs& x) {
         return embedding(labels(50, {7, 9}), x[0]);
       }},
      {"scatter_add",
       {s, {33, 4}},
       [](const Inputs& x) {
         return scatter_add(x[0], 1, labels(17, {33, 4}), x[1]);
       }},
      {"one_hot",
       {s},
       [](const Inputs& x) { return x[0] * one_hot(labels(17, {33}), 17).to(x[0].dtype()); }},
      {"cross_entropy",
       {s},
       [](const Inputs& x) {
         return cross_entropy(x[0], labels(17, {33}), Reduction::mean, {.label_smoothing = 0.1});
       }},
      {"nll_loss",
       {s},
       [](const Inputs& x) { return nll_loss(log_softmax(x[0], 1), labels(17, {33})); }},
      {"bce_with_logits",
       {s},
       [](const Inputs& x) { return bce_with_logits(x[0], sigmoid(x[0].detach())); }},
      {"huber_loss", {s, s}, [](const Inputs& x) { return huber_loss(x[0], x[1]); }},
  };
}

std::vector<OpCase> product_cases() {
  return {
      {"matmul", {{4, 70, 60}, {4, 60, 50}}, [](const Inputs& x) { return matmul(x[0], x[1]); }},
      {"linear",
       {{70, 60}, {50, 60}, {50}},
       [](const Inputs& x) { return linear(x[0], x[1], x[2]); }},
      {"linear_gelu",
       {{270, 60}, {50, 60}, {50}},
       [](const Inputs& x) { return linear_gelu(x[0], x[1], x[2], Gelu::tanh); }},
      {"attention",
       {{2, 3, 70, 16}, {2, 3, 70, 16}, {2, 3, 70, 16}},
       [](const Inputs& x) {
         return scaled_dot_product_attention(
             x[0], x[1], x[2], {}, {.causal = true, .dropout_p = 0.1});
       }},
      {"packed_attention",
       {{2, 70, 96}},
       [](const Inputs& x) { return packed_attention(x[0], 2, {}, {.causal = true}); }},
  };
}

std::vector<OpCase> image_cases() {
  const Shape s{5, 6, 13, 12};
  std::vector<OpCase> cases{
      {"conv2d of three channels",
       {{5, 3, 13, 12}, {8, 3, 3, 3}, {8}},
       [](const Inputs& x) {
         return conv2d(x[0], x[1], x[2], {.padding = {1, 1}});
       }},
      {"conv2d with strides and groups",
       {s, {8, 3, 3, 3}, {8}},
       [](const Inputs& x) {
         return conv2d(x[0], x[1], x[2], {.stride = {2, 2}, .groups = 2});
       }},
      {"conv2d of many channels",
       {{5, 32, 9, 9}, {48, 32, 3, 3}},
       [](const Inputs& x) {
         return conv2d(x[0], x[1], {}, {.padding = {1, 1}});
       }},
      {"pointwise conv2d",
       {{5, 32, 9, 9}, {48, 32, 1, 1}},
       [](const Inputs& x) { return conv2d(x[0], x[1]); }},
      {"conv1d", {{5, 6, 40}, {8, 6, 3}}, [](const Inputs& x) { return conv1d(x[0], x[1]); }},
      {"conv_transpose2d",
       {s, {6, 4, 3, 3}, {4}},
       [](const Inputs& x) {
         return conv_transpose2d(x[0], x[1], x[2], {.stride = {2, 2}});
       }},
      {"batch_norm",
       {s, {6}, {6}},
       [](const Inputs& x) {
         return batch_norm(x[0], x[1], x[2], 1e-5, BatchNormSync::per_replica, NormActivation::relu)
             .y;
       }},
      {"max_pool2d",
       {s},
       [](const Inputs& x) {
         return max_pool2d(x[0], {2, 2});
       }},
      {"avg_pool2d",
       {s},
       [](const Inputs& x) {
         return avg_pool2d(x[0], {3, 3});
       }},
      {"adaptive_avg_pool2d",
       {s},
       [](const Inputs& x) {
         return adaptive_avg_pool2d(x[0], {2, 3});
       }},
  };
  for (std::size_t i = 0, n = cases.size(); i < n; ++i) {
    if (cases[i].shapes.front().size() != 4) continue;
    const auto plain = cases[i].op;
    cases.push_back({cases[i].name + ", channels last", cases[i].shapes, [plain](const Inputs& x) {
                       Inputs last = x;
                       last[0] = x[0].contiguous(MemoryFormat::channels_last);
                       return plain(last);
                     }});
  }
  return cases;
}

struct Need {
  std::size_t peak, in_use;
  std::uint64_t allocations;
  std::array<std::size_t, kCategories> by_category;
  friend bool operator==(const Need&, const Need&) = default;
  friend void PrintTo(const Need& n, std::ostream* s) {
    *s << "peak " << n.peak << ", in use " << n.in_use << ", allocations " << n.allocations;
  }
};

/// What the op and its backward need, on cpu:0.
Need need_of(const char* list, const OpCase& c, DType dtype, KernelPath path, int threads) {
  configure_devices(list);
  LogicalDevice& device = logical_device({});
  const ContextScope scope([&](Context& context) {
    context.path = path;
    context.threads = threads;
  });
  manual_seed(2);
  device.reset_peak();
  const std::uint64_t before = device.memory_stats().allocations;
  Inputs inputs;
  for (const Shape& shape : c.shapes)
    inputs.push_back(randn(shape, {.dtype = dtype}).requires_grad_());
  const Tensor y = c.op(inputs);
  sum(y.to(DType::f32)).backward();
  const MemoryStats stats = device.memory_stats();
  configure_devices("cpu:2");
  return {stats.peak, stats.in_use, stats.allocations - before, stats.peak_by_category};
}

void expect_equal_needs(const std::vector<OpCase>& cases, const std::vector<DType>& dtypes) {
  for (const OpCase& c : cases) {
    for (const DType dtype : dtypes) {
      for (const KernelPath path : {KernelPath::fastest, KernelPath::native}) {
        for (const int threads : {1, 3}) {
          EXPECT_EQ(need_of("cpu:2@shape-only", c, dtype, path, threads),
                    need_of("cpu:2", c, dtype, path, threads))
              << c.name << ' ' << name(dtype) << (path == KernelPath::native ? " native" : "")
              << ", threads " << threads;
        }
      }
    }
  }
}

const std::vector<DType> kFloats{DType::f32, DType::f64, DType::bf16};

TEST(ShapeOnlyOps, ElementwiseNeedTheSameBytes) {
  expect_equal_needs(value_cases(), {DType::f32, DType::bf16});
}
TEST(ShapeOnlyOps, ReductionsNeedTheSameBytes) {
  expect_equal_needs(reduction_cases(), {DType::f32, DType::f64});
}
TEST(ShapeOnlyOps, IndicesAndLossesNeedTheSameBytes) {
  expect_equal_needs(index_cases(), {DType::f32});
}
TEST(ShapeOnlyOps, ProductsNeedTheSameBytes) {
  expect_equal_needs(product_cases(), kFloats);
}
TEST(ShapeOnlyOps, ConvolutionsNormsAndPoolsNeedTheSameBytes) {
  expect_equal_needs(image_cases(), kFloats);
}

}  // namespace
}  // namespace tandem
