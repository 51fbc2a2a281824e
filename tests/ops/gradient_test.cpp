// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradcheck.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/cumsum.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/ops/sort.hpp"
#include "tandem/ops/tril.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/near.hpp"

// First and second derivatives of every op against differences, on inputs of several layouts.
namespace tandem {
namespace {

using Inputs = std::vector<Tensor>;
using Function = std::function<Tensor(const Inputs&)>;

TensorOptions doubles() {
  return {.dtype = DType::f64};
}

/// Values between `low` and `high`, none near zero, as a leaf.
Tensor leaf_between(const Shape& shape, double low = 0.3, double high = 1.7) {
  return (rand(shape, doubles()) * (high - low) + low).detach().requires_grad_();
}

struct GradientCase {
  const char* name;
  Function f;
  std::function<Inputs()> inputs;
};

void PrintTo(const GradientCase& c, std::ostream* s) {
  *s << c.name;
}

class GradientTest : public ::testing::TestWithParam<GradientCase> {};

TEST_P(GradientTest, AgreesWithDifferences) {
  manual_seed(7);
  const Inputs inputs = GetParam().inputs();
  const auto f = [](const Inputs& x) { return Inputs{GetParam().f(x)}; };
  EXPECT_EQ(autograd::gradcheck(f, inputs), "");
  EXPECT_EQ(autograd::gradgradcheck(f, inputs, testing::twice()), "");
}

/// One operand: contiguous, transposed, every second entry, scalar, empty.
Inputs layouts_of(const Tensor& x) {
  return {x,
          x.transpose(0, 1),
          x.slice(1, {.start = 0, .step = 2}),
          x.select(0, 0).select(0, 1),
          x.narrow(0, 0, 0)};
}

/// The op on each layout of its one input.
GradientCase unary(const char* name, const std::function<Tensor(const Tensor&)>& f) {
  const auto on_all = [f](const Inputs& in) {
    Inputs parts;
    for (const Tensor& x : layouts_of(in[0]))
      parts.push_back(f(x).flatten());
    return cat(parts);
  };
  return {name, on_all, [] { return Inputs{leaf_between({3, 4})}; }};
}

/// The op on broadcast, strided, scalar and empty operands.
GradientCase binary(const char* name, Tensor (*f)(const Tensor&, const Tensor&)) {
  const auto on_all = [f](const Inputs& in) {
    const Tensor &a = in[0], &b = in[1], &row = in[2];
    const Tensor empty = a.narrow(0, 0, 0);
    return cat({f(a, b.t()).flatten(),
                f(a, row).flatten(),
                f(row, a).flatten(),
                f(a, row.select(0, 0)).flatten(),
                f(a.unsqueeze(0), b.t().slice(0, {.start = 0, .step = 3})).flatten(),
                f(empty, row).flatten()});
  };
  return {
      name, on_all, [] {
        return Inputs{leaf_between({3, 4}), leaf_between({4, 3}, 2, 3), leaf_between({4}, 4, 5)};
      }};
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise,
    GradientTest,
    ::testing::Values(
        binary("add", add),
        binary("sub", sub),
        binary("mul", mul),
        binary("div", div),
        binary("maximum", maximum),
        binary("minimum", minimum),
        unary("neg", neg),
        unary("abs", abs),
        unary("exp", exp),
        unary("log", log),
        unary("sqrt", sqrt),
        unary("rsqrt", rsqrt),
        unary("reciprocal", reciprocal),
        unary("square", square),
        unary("sin", sin),
        unary("cos", cos),
        unary("erf", erf),
        binary("pow_tensor", [](const Tensor& a, const Tensor& b) { return pow(a, b); }),
        unary("clamp", [](const Tensor& x) { return square(clamp(x, 0.5, 1.4)); }),
        binary("clamp_tensor",
               [](const Tensor& x, const Tensor& bound) {
                 return clamp(x * x, bound - 1.5, bound);
               }),
        unary("masked_fill", [](const Tensor& x) { return square(masked_fill(x, gt(x, 1.0), 3)); }),
        unary("pow", [](const Tensor& x) { return pow(x, 2.5); }),
        unary("number", [](const Tensor& x) { return 2.0 / (3.0 - x * 0.5) + 1.0; }),
        unary("where", [](const Tensor& x) {
          return where(gt(x, 1.0), x, x * 2.0) + where(lt(x, 1.0), x, 3.0);
        })));

INSTANTIATE_TEST_SUITE_P(
    Activation,
    GradientTest,
    ::testing::Values(
        unary("relu", [](const Tensor& x) { return relu(x - 1.0); }),
        unary("tanh", tanh),
        unary("sigmoid", sigmoid),
        unary("silu", [](const Tensor& x) { return silu(x * 2.0 - 2.0); }),
        unary("leaky_relu", [](const Tensor& x) { return square(leaky_relu(x - 1.0)); }),
        unary("elu", [](const Tensor& x) { return elu(x - 1.0, 1.5); }),
        unary("softplus", [](const Tensor& x) { return softplus(x - 1.0, 2.5, 1); }),
        unary("logsigmoid", [](const Tensor& x) { return logsigmoid(x * 2.0 - 2.0); }),
        unary("gelu", [](const Tensor& x) { return gelu(x - 1.0); }),
        unary("gelu_tanh", [](const Tensor& x) { return gelu(x - 1.0, Gelu::tanh); })));

GradientCase on(const char* name, const Shape& shape, const Function& f) {
  return {name, f, [shape] { return Inputs{leaf_between(shape)}; }};
}

INSTANTIATE_TEST_SUITE_P(
    Reduce,
    GradientTest,
    ::testing::Values(
        on("sum",
           {2, 3, 4},
           [](const Inputs& x) {
             return sum(x[0].transpose(0, 2), {0, 2});
           }),
        on("sum_all", {2, 3}, [](const Inputs& x) { return square(sum(x[0])); }),
        on("mean", {2, 3, 4}, [](const Inputs& x) { return mean(x[0], {1}, KeepDims::yes); }),
        on("var",
           {2, 3, 4},
           [](const Inputs& x) {
             return var(x[0], {0, -1});
           }),
        on("std",
           {2, 3, 4},
           [](const Inputs& x) {
             return std(x[0], {0, -1});
           }),
        on("logsumexp", {2, 3}, [](const Inputs& x) { return logsumexp(x[0].t(), {0}); }),
        on("cumsum", {2, 3, 2}, [](const Inputs& x) { return square(cumsum(x[0], 1)); }),
        on("max", {3, 5}, [](const Inputs& x) { return square(max(x[0], 1).values); }),
        on("min", {3, 5}, [](const Inputs& x) { return square(min(x[0].t(), 1).values); }),
        on("topk", {3, 5}, [](const Inputs& x) { return square(topk(x[0], 2).values); }),
        on("sort", {20, 2}, [](const Inputs& x) { return square(sort(x[0], 0).values); }),
        on("amax", {3, 5}, [](const Inputs& x) { return amax(x[0], {1}); }),
        on("amin", {3, 5}, [](const Inputs& x) { return amin(x[0].t(), {0}, KeepDims::yes); }),
        on("sum_to",
           {2, 3, 4},
           [](const Inputs& x) {
             return square(sum_to(x[0], {3, 1}));
           }),
        on("softmax", {3, 4}, [](const Inputs& x) { return softmax(x[0].t(), 0); }),
        on("log_softmax", {2, 3, 4}, [](const Inputs& x) { return log_softmax(x[0], 1); })));

Tensor labels(std::initializer_list<std::int64_t> values) {
  return tensor<std::int64_t>(values);
}

INSTANTIATE_TEST_SUITE_P(
    Index,
    GradientTest,
    ::testing::Values(
        on("reshape",
           {3, 4},
           [](const Inputs& x) {
             return square(x[0].t().reshape({2, -1}));
           }),
        on("permute",
           {2, 3, 4},
           [](const Inputs& x) {
             return square(x[0].permute({2, 0, 1}));
           }),
        on("expand",
           {3, 1},
           [](const Inputs& x) {
             return square(x[0].expand({2, 3, 4}));
           }),
        on("slice",
           {5, 4},
           [](const Inputs& x) {
             return square(x[0].slice(0, {1, 5, 2}).select(1, -1));
           }),
        on("squeeze", {3, 1}, [](const Inputs& x) { return square(x[0].squeeze(1).unsqueeze(0)); }),
        on("contiguous", {3, 4}, [](const Inputs& x) { return square(x[0].t().contiguous()); }),
        on("clone", {3, 4}, [](const Inputs& x) { return square(x[0].t().clone()); }),
        on("cat",
           {3, 4},
           [](const Inputs& x) {
             return square(cat({x[0], x[0].narrow(1, 0, 2)}, 1));
           }),
        on("stack",
           {3, 4},
           [](const Inputs& x) {
             return square(stack({x[0], x[0] * 2.0}, 1));
           }),
        on("slice_backward",
           {2, 3},
           [](const Inputs& x) {
             return square(slice_backward(x[0], {2, 8}, 1, {1, 7, 2}));
           }),
        on("index_select",
           {3, 4},
           [](const Inputs& x) {
             return square(index_select(x[0], 0, labels({2, 0, 2})));
           }),
        on("tril", {3, 4}, [](const Inputs& x) { return square(tril(x[0].t(), 1)); }),
        on("triu", {2, 3, 4}, [](const Inputs& x) { return square(triu(x[0], -1)); }),
        on("gather",
           {2, 4},
           [](const Inputs& x) {
             return square(gather(x[0], 1, labels({3, 0, 0, 1}).reshape({2, 2})));
           }),
        on("scatter_add", {2, 4}, [](const Inputs& x) {
          const Tensor index = labels({3, 0, 0, 0}).reshape({2, 2});
          return square(scatter_add(x[0], 1, index, exp(x[0].narrow(1, 0, 2))));
        })));

INSTANTIATE_TEST_SUITE_P(
    Loss,
    GradientTest,
    ::testing::Values(
        on("cross_entropy",
           {4, 3},
           [](const Inputs& x) {
             return cross_entropy(x[0], labels({2, 0, -100, 1}));
           }),
        on("cross_entropy_image",
           {2, 3, 2},
           [](const Inputs& x) {
             const CrossEntropyOptions options{.ignore_index = 1,
                                               .class_weight = tensor({0.5, 1.0, 2.0})};
             return cross_entropy(
                 x[0], labels({2, 0, 1, 2}).reshape({2, 2}), Reduction::none, options);
           }),
        on("cross_entropy_sum",
           {3, 4},
           [](const Inputs& x) {
             return cross_entropy_sum(x[0].t(), labels({2, 0, 0, 1})).sum;
           }),
        on("cross_entropy_smooth",
           {4, 3},
           [](const Inputs& x) {
             const CrossEntropyOptions options{.class_weight = tensor({0.5, 1.0, 2.0}),
                                               .label_smoothing = 0.2};
             return cross_entropy(x[0], labels({2, 0, -100, 1}), Reduction::mean, options);
           }),
        on("nll",
           {4, 3},
           [](const Inputs& x) {
             return nll_loss(square(x[0]), labels({2, 0, -100, 1}));
           }),
        on("bce_with_logits",
           {3, 4},
           [](const Inputs& x) {
             const BceOptions options{.pos_weight = tensor({0.5, 1.0, 2.0, 3.0})};
             return bce_with_logits(x[0], x[0].t().reshape({3, 4}) * 0.5, Reduction::none, options);
           }),
        on("smooth_l1",
           {3, 4},
           [](const Inputs& x) {
             return smooth_l1_loss(x[0] * 2.0, ones({3, 4}), Reduction::none, 0.5);
           }),
        on("huber",
           {3, 4},
           [](const Inputs& x) {
             return huber_loss(x[0] * 2.0, ones({3, 4}), Reduction::none, 0.5);
           }),
        on("kl_div",
           {3, 4},
           [](const Inputs& x) {
             return kl_div(x[0], exp(x[0].t().reshape({3, 4})), Reduction::batch_mean);
           }),
        GradientCase{"mse",
                     [](const Inputs& x) { return mse_loss(x[0], x[1].t()); },
                     [] {
                       return Inputs{leaf_between({3, 4}), leaf_between({4, 3})};
                     }}));

}  // namespace
}  // namespace tandem
