// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/transformer.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "tandem/nn/init.hpp"
#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::nn {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;
using testing::thrown_text;

TensorOptions doubles() {
  return {.dtype = DType::f64};
}

MultiheadAttention make_attention(bool causal = false) {
  manual_seed(4);
  return MultiheadAttention(12, 3, {.causal = causal, .dtype = DType::f64});
}

TEST(MultiheadAttentionTest, SelfAttentionIsAttentionToItself) {
  for (const bool causal : {false, true}) {
    MultiheadAttention attention = make_attention(causal);
    init::normal_(attention.in_proj_bias);
    const Tensor x = randn({2, 5, 12}, doubles());
    const Tensor hidden = gt(randn({5, 5}), 0.5);
    for (const AttentionMasks& masks : {AttentionMasks{}, AttentionMasks{.attention = hidden}})
      EXPECT_THAT(attention(x, masks).to_doubles(),
                  Pointwise(DoubleNear(1e-13), attention(x, x, x, masks).to_doubles()));
  }
}

TEST(MultiheadAttentionTest, PaddingIsNotSeen) {
  MultiheadAttention attention = make_attention();
  const Tensor x = randn({2, 4, 12}, doubles());
  Tensor other = x.clone();
  other.narrow(1, 3, 1).fill_(9);
  const Tensor key_padding =
      ne(tensor<std::int64_t>({0, 0, 0, 1, 0, 0, 0, 1}).reshape({2, 4}), 0.0);
  const Tensor added = randn({4, 4}, doubles()), hidden = gt(added, 0.3);
  for (const AttentionMasks& masks : {AttentionMasks{.key_padding = key_padding},
                                      AttentionMasks{key_padding, hidden},
                                      AttentionMasks{key_padding, added}})
    EXPECT_THAT(attention(x, x, x, masks).to_doubles(),
                Pointwise(DoubleNear(1e-13), attention(x, other, other, masks).to_doubles()));
  // Both masks hide: what the one shows, the other still hides.
  const auto alone = attention(x, AttentionMasks{.attention = hidden}).to_doubles();
  const auto both = attention(x, AttentionMasks{key_padding, hidden}).to_doubles();
  EXPECT_NE(alone, both);
}

TEST(MultiheadAttentionTest, ErrorsNameSizes) {
  EXPECT_THAT(thrown_text([] { MultiheadAttention(10, 3); }),
              AllOf(HasSubstr("10"), HasSubstr("3 heads")));
  MultiheadAttention attention = make_attention();
  EXPECT_THAT(thrown_text([&] {
                attention(ones({2, 5, 11}, doubles()));
              }),
              AllOf(HasSubstr("(N, length, 12)"), HasSubstr("(2, 5, 11)")));
  EXPECT_THAT(thrown_text([&] {
                attention(ones({2, 5, 12}, doubles()), AttentionMasks{.key_padding = ones({2, 5})});
              }),
              HasSubstr("key_padding must be bool"));
}

models::GptOptions small(bool tied = true) {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .context = 6,
          .vocabulary = 11,
          .dropout = 0.2,
          .tied = tied,
          .dtype = DType::f64};
}

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& t : tensors)
    names.push_back(t.name);
  return names;
}

TEST(GptTest, HasGpt2sParameters) {
  const models::Gpt net(small());
  std::int64_t n = 0;
  for (const Tensor& p : net.parameters())
    n += p.numel();
  const std::int64_t c = 8, block = 12 * c * c + 13 * c;
  EXPECT_EQ(n, (11 + 6) * c + 2 * block + 2 * c);
  const models::GptOptions xl = models::gpt_options("gpt2-xl");
  EXPECT_EQ(xl.layers, 48);
  EXPECT_EQ(xl.width, 1600);
  EXPECT_EQ(xl.heads, 25);
  EXPECT_THAT(thrown_text([] { models::gpt_options("gpt3"); }),
              AllOf(HasSubstr("gpt3"), HasSubstr("gpt2-medium")));
}

TEST(BertTest, SizesAreKnownByName) {
  const models::BertOptions large = models::bert_options("bert-large");
  EXPECT_EQ(large.layers, 24);
  EXPECT_EQ(large.width, 1024);
  EXPECT_EQ(large.heads, 16);
  EXPECT_EQ(models::bert_options("bert-base").layers, 12);
  EXPECT_THAT(thrown_text([] { models::bert_options("bert"); }),
              AllOf(HasSubstr("'bert'"), HasSubstr("bert-base")));
}

models::BertOptions small_bert() {
  return {.layers = 2,
          .width = 8,
          .heads = 2,
          .context = 6,
          .vocabulary = 11,
          .dropout = 0,
          .dtype = DType::f64};
}

TEST(BertTest, APoolerIsLeftOutWhereItIsNotWanted) {
  models::BertOptions o = small_bert();
  o.pooler = false;
  models::Bert net(o);
  EXPECT_THAT(names_of(net.named_parameters()), Not(Contains("pooler.weight")));
  EXPECT_FALSE(net(randint(0, 11, {2, 6})).pooled.defined());
}

TEST(BertMaskedLmTest, TheDecoderIsTheEmbeddingWithABias) {
  models::BertMaskedLm net(small_bert());
  EXPECT_TRUE(net.decoder.weight.is(net.embed.weight));
  EXPECT_FALSE(net.pooler.has_value());
  EXPECT_THAT(names_of(net.named_parameters()),
              AllOf(Not(Contains("decoder.weight")),
                    Contains("decoder.bias"),
                    Contains("blocks.1.fc.weight")));
  const models::BertMaskedLm copy = clone(net);
  EXPECT_TRUE(copy.decoder.weight.is(copy.embed.weight));
  EXPECT_FALSE(copy.decoder.weight.is(net.decoder.weight));
}

TEST(BertMaskedLmTest, EachTokenSeesTheLaterOnes) {
  manual_seed(5);
  models::BertMaskedLm net(small_bert());
  const Tensor x = zeros({1, 6}, {.dtype = DType::i64}), other = x.clone();
  other.narrow(1, 5, 1).fill_(3);
  const std::vector<double> first = net(x).narrow(1, 0, 1).to_doubles();
  EXPECT_EQ(first.size(), 11u);
  EXPECT_NE(first, net(other).narrow(1, 0, 1).to_doubles());
  EXPECT_THAT(thrown_text([&] {
                net(zeros({1, 7}, {.dtype = DType::i64}));
              }),
              AllOf(HasSubstr("context of 6"), HasSubstr("(1, 7)")));
}

TEST(GptTest, LaterTokensDoNotChangeEarlierLogits) {
  models::Gpt net(small());
  net.eval();
  const Tensor x = randint(0, 11, {2, 6});
  Tensor other = x.clone();
  other.narrow(1, 4, 2).fill_(3);
  const auto start = [&](const Tensor& index) { return net(index).narrow(1, 0, 4).to_doubles(); };
  EXPECT_EQ(start(x), start(other));
  const std::vector<double> shorter = net(x.narrow(1, 0, 4)).to_doubles();
  if (testing::on_gpus())  // products of other sizes, which another kernel may do
    EXPECT_THAT(shorter, Pointwise(DoubleNear(1e-5), start(x)));
  else
    EXPECT_EQ(shorter, start(x)) << "a shorter sequence";
}

TEST(GptTest, TiedHeadIsTheEmbedding) {
  models::Gpt net(small());
  EXPECT_TRUE(net.head.weight.is(net.embed.weight));
  EXPECT_THAT(names_of(net.named_parameters()), Not(Contains("head.weight")));
  EXPECT_TRUE(net.state_dict().contains("head.weight"));
  models::Gpt copy = clone(net);
  EXPECT_TRUE(copy.head.weight.is(copy.embed.weight));
  EXPECT_FALSE(copy.head.weight.is(net.head.weight));
  const models::Gpt untied(small(false));
  EXPECT_THAT(names_of(untied.named_parameters()), Contains("head.weight"));

  models::Gpt loaded(small());
  loaded.load_state_dict(net.state_dict());
  EXPECT_EQ(loaded.embed.weight.to_doubles(), net.embed.weight.to_doubles());
  EXPECT_TRUE(loaded.head.weight.is(loaded.embed.weight));
}

TEST(GptTest, TiedGradientIsTheSumOfBothUses) {
  models::Gpt tied(small());
  models::Gpt free(small(false));
  StateDict state = tied.state_dict();
  free.load_state_dict(state);
  const Tensor x = randint(0, 11, {3, 6}), next = randint(0, 11, {18});
  for (models::Gpt* net : {&tied, &free}) {
    net->eval();
    cross_entropy((*net)(x).flatten(0, 1), next).backward();
  }
  const Tensor sum = free.embed.weight.grad() + free.head.weight.grad();
  EXPECT_THAT(tied.embed.weight.grad().to_doubles(),
              Pointwise(DoubleNear(1e-14), sum.to_doubles()));
}

TEST(GptTest, OptimizerStepsTheTiedWeightOnce) {
  models::Gpt net(small());
  const std::vector<double> before = net.embed.weight.to_doubles();
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.5, .weight_decay = 0});
  EXPECT_TRUE(net.head.weight.is(net.embed.weight));
  cross_entropy(net(randint(0, 11, {3, 6})).flatten(0, 1), randint(0, 11, {18})).backward();
  optimizer.step();
  const std::vector<double> after = net.head.weight.to_doubles();
  EXPECT_EQ(after, net.embed.weight.to_doubles());
  std::vector<double> moved;
  for (std::size_t i = 0; i < after.size(); ++i)
    moved.push_back(std::abs(after[i] - before[i]));
  EXPECT_THAT(moved, Each(DoubleNear(0.5, 1e-3)));  // the first step of Adam is lr
}

TEST(GptTest, ErrorsNameTheContextAndTheVocabulary) {
  models::Gpt net(small());
  EXPECT_THAT(thrown_text([&] {
                net(zeros({1, 7}, {.dtype = DType::i64}));
              }),
              AllOf(HasSubstr("context of 6"), HasSubstr("(1, 7)")));
  EXPECT_THAT(thrown_text([&] {
                net(tensor<std::int64_t>({0, 11}).reshape({1, 2}));
              }),
              AllOf(HasSubstr("index 11"), HasSubstr("[0, 11)")));
  EXPECT_THAT(thrown_text([] { models::Gpt({.layers = 0}); }), HasSubstr("layers 0"));
}

TEST(GptTest, LearnsToRepeat) {
  manual_seed(9);
  models::GptOptions o = small();
  o.dropout = 0;
  models::Gpt net(o);
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.02});
  double loss = 0;
  for (int step = 0; step < 60; ++step) {
    const Tensor x = randint(0, 11, {16, 1}).expand({16, 6}).contiguous();
    optimizer.zero_grad();
    const Tensor l = cross_entropy(net(x).flatten(0, 1), x.flatten());
    l.backward();
    optimizer.step();
    loss = l.item();
  }
  EXPECT_LT(loss, 0.5);  // chance is log(11) = 2.4
}

}  // namespace
}  // namespace tandem::nn
