// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/loss.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/softmax.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;

TEST(LossTest, BadLabelNamesRowAndLabel) {
  const Tensor logits = randn({4, 10});
  const Tensor labels = tensor<std::int64_t>({3, 9, 10, -1});
  EXPECT_THAT(thrown_text([&] { cross_entropy(logits, labels); }),
              AllOf(HasSubstr("label 10"), HasSubstr("row 2"), HasSubstr("[0, 10)")));
  // In a replica the row is that of the whole batch.
  const ContextScope scope([](Context& c) { c.rows = {100, 104}; });
  EXPECT_THAT(thrown_text([&] { cross_entropy(logits, labels); }), HasSubstr("row 102"));
  const Tensor image = randn({2, 3, 2}), map = tensor<std::int64_t>({0, 1, 2, 5}).reshape({2, 2});
  EXPECT_THAT(thrown_text([&] { cross_entropy(image, map); }),
              AllOf(HasSubstr("label 5"), HasSubstr("row 101")));
}

TEST(LossTest, WrongShapesAndTypesAreNamed) {
  const Tensor logits = randn({4, 3});
  EXPECT_THAT(thrown_text([&] {
                cross_entropy(logits, tensor<std::int64_t>({1, 2}));
              }),
              AllOf(HasSubstr("(4, 3)"), HasSubstr("(2)")));
  EXPECT_THAT(thrown_text([&] { cross_entropy(logits, ones({4})); }), HasSubstr("f32 (4)"));
  EXPECT_THAT(thrown_text([&] { cross_entropy(ones({4}), tensor<std::int64_t>({1})); }),
              HasSubstr("(N, C, ...)"));
  const CrossEntropyOptions options{.class_weight = ones({4})};
  EXPECT_THAT(thrown_text([&] {
                cross_entropy_sum(logits, tensor<std::int64_t>({0, 1, 2, 0}), options);
              }),
              AllOf(HasSubstr("class_weight"), HasSubstr("(4)"), HasSubstr("(3)")));
  EXPECT_THAT(thrown_text([&] {
                mse_loss(ones({2, 3}), ones({3}));
              }),
              AllOf(HasSubstr("(2, 3)"), HasSubstr("(3)")));
}

TEST(LossTest, SmallLabelTypesCountToo) {
  const Tensor logits = randn({4, 3});
  const Tensor labels = tensor<std::int64_t>({2, 0, 1, 1});
  const double expected = cross_entropy(logits, labels).item();
  EXPECT_EQ(cross_entropy(logits, labels.to(DType::u8)).item(), expected);
  EXPECT_EQ(cross_entropy(logits, labels.to(DType::i32)).item(), expected);
}

/// Sums and weights of parts add up to those of the whole.
TEST(LossTest, PartsAddUpToTheWhole) {
  const Tensor logits = randn({12, 5}, {.dtype = DType::f64});
  const Tensor labels = tensor<std::int64_t>({0, 1, 2, 3, 4, 2, 2, -100, 1, 0, -100, 3});
  const CrossEntropyOptions options{.class_weight = tensor({0.5, 1.0, 2.0, 0.25, 3.0})};
  double total = 0, weight = 0;
  for (const auto& [begin, n] : {std::pair{0, 7}, {7, 1}, {8, 4}}) {
    const WeightedSum part =
        cross_entropy_sum(logits.narrow(0, begin, n), labels.narrow(0, begin, n), options);
    total += part.sum.item();
    weight += part.weight.item();
    EXPECT_FALSE(part.weight.requires_grad());
  }
  EXPECT_NEAR(
      total / weight, cross_entropy(logits, labels, Reduction::mean, options).item(), 1e-14);
  EXPECT_EQ(mse_loss_sum(logits, logits + 2.0).weight.item(), 60);
  EXPECT_EQ(mse_loss_sum(logits, logits + 2.0).sum.item(), 240);
}

TEST(LossTest, IgnoredRowsHaveNoGradientWhateverTheyHold) {
  const Tensor logits =
      (randn({3, 4}) * tensor({1.0f, HUGE_VALF, 1.0f}).unsqueeze(1)).detach().requires_grad_();
  cross_entropy(logits, tensor<std::int64_t>({1, -100, 2})).backward();
  EXPECT_THAT(logits.grad().select(0, 1).to_doubles(), Each(0));
  EXPECT_TRUE(std::isfinite(logits.grad().select(0, 0).to_doubles()[0]));
}

TEST(LossTest, OptionsOutOfRangeAreNamed) {
  const Tensor x = ones({2, 3});
  const Tensor target = tensor<std::int64_t>({0, 1});
  EXPECT_THAT(
      thrown_text([&] { cross_entropy(x, target, Reduction::mean, {.label_smoothing = 1.5}); }),
      HasSubstr("label_smoothing is 1.5; it must be in [0, 1]"));
  EXPECT_THAT(thrown_text([&] {
                nll_loss(x, tensor<std::int64_t>({0, 3}));
              }),
              HasSubstr("nll_loss: label 3 in row 1"));
  EXPECT_THAT(thrown_text([&] { smooth_l1_loss(x, x, Reduction::mean, -1); }),
              HasSubstr("beta is -1"));
  EXPECT_THAT(thrown_text([&] { huber_loss(x, x, Reduction::mean, 0); }), HasSubstr("delta is 0"));
  EXPECT_THAT(thrown_text([&] { l1_loss(x, ones({3})); }), HasSubstr("l1_loss: the shapes (2, 3)"));
  EXPECT_THAT(thrown_text([&] {
                bce_with_logits(x, x, Reduction::mean, {.weight = ones({4, 2, 3})});
              }),
              HasSubstr("weight (4, 2, 3) does not broadcast to (2, 3)"));
}

/// Parts of a batch add up for each loss, as they must in replicas.
TEST(LossTest, PartsOfEveryLossAddUp) {
  manual_seed(9);
  const Tensor a = randn({7, 4}, {.dtype = DType::f64}), b = rand({7, 4}, {.dtype = DType::f64});
  const Tensor index = randint(0, 4, {7});
  const auto check = [&](const char* name, auto sum_of, const Tensor& whole) {
    double total = 0, weight = 0;
    for (const auto& [begin, n] : {std::pair{0, 2}, {2, 4}, {6, 1}}) {
      const WeightedSum part = sum_of(begin, n);
      total += part.sum.item();
      weight += part.weight.item();
    }
    EXPECT_NEAR(total / weight, whole.item(), 1e-14) << name;
  };
  const auto cut = [](const Tensor& x, int begin, int n) { return x.narrow(0, begin, n); };
  const CrossEntropyOptions smooth{
      .ignore_index = 1, .class_weight = tensor({0.5, 1.0, 2.0, 0.25}), .label_smoothing = 0.25};
  check(
      "label smoothing",
      [&](int i, int n) { return cross_entropy_sum(cut(a, i, n), cut(index, i, n), smooth); },
      cross_entropy(a, index, Reduction::mean, smooth));
  check(
      "nll",
      [&](int i, int n) { return nll_loss_sum(cut(a, i, n), cut(index, i, n)); },
      nll_loss(a, index));
  check(
      "l1", [&](int i, int n) { return l1_loss_sum(cut(a, i, n), cut(b, i, n)); }, l1_loss(a, b));
  check(
      "bce",
      [&](int i, int n) { return bce_with_logits_sum(cut(a, i, n), cut(b, i, n)); },
      bce_with_logits(a, b));
  check(
      "kl_div",
      [&](int i, int n) { return kl_div_sum(cut(a, i, n), cut(b, i, n), Reduction::batch_mean); },
      kl_div(a, b, Reduction::batch_mean));
}

TEST(LossTest, BinaryEntropyHoldsFarFromZero) {
  const Tensor x = tensor({-1000.0, 1000.0}).requires_grad_();
  const Tensor loss = bce_with_logits(x, tensor({0.0, 0.0}), Reduction::none);
  EXPECT_THAT(loss.to_doubles(), ElementsAre(0, 1000));
  loss.backward(ones_like(loss));
  EXPECT_THAT(x.grad().to_doubles(), ElementsAre(0, 1));
}

/// The composed formula, by other kernels.
TEST(LossTest, IsTheLogSoftmaxOfTheLabel) {
  const Tensor logits = randn({64, 17}, {.dtype = DType::f64});
  const Tensor labels = randint(0, 17, {64});
  const Tensor expected = -gather(log_softmax(logits, 1), 1, labels.unsqueeze(1)).squeeze(1);
  const std::vector<double> a = cross_entropy(logits, labels, Reduction::none).to_doubles(),
                            b = expected.to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-14);
  EXPECT_NEAR(sum(softmax(logits, 1)).item(), 64, 1e-12);
}

TEST(LossTest, GradientIsTheLogSoftmaxsForLinesOfAnyLength) {
  for (const std::int64_t n : {5, 300, 1500, 9001, 17'000}) {
    const Tensor logits = testing::leaf({3, n});
    const Tensor labels = tensor<std::int64_t>({n - 1, -100, 0});
    cross_entropy(logits, labels, Reduction::sum).backward();
    const Tensor composed = logits.detach().requires_grad_();
    const Tensor rows = tensor<std::int64_t>({0, 2});
    sum(-gather(index_select(log_softmax(composed, 1), 0, rows),
                1,
                index_select(labels, 0, rows).unsqueeze(1)))
        .backward();
    EXPECT_TRUE(testing::near(logits.grad(), composed.grad(), 1e-12)) << n;
  }
}

}  // namespace
}  // namespace tandem
