// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <stdexcept>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/profile/step_record.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What becomes of the buffers that replicas write.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Sizes = std::vector<std::int64_t>;

/// Buffers of each kind, written in training: the last row's first number, the mean of them, and
/// how many rows there were.
struct Notes : nn::Module {
  nn::Linear layer{12, 5, {.dtype = DType::f64}};
  nn::BufferTensor last = zeros({1}, {.dtype = DType::f64});
  nn::BufferTensor average = ones({1}, {.dtype = DType::f64});
  nn::BufferTensor rows = full({}, 100, {.dtype = DType::i64});
  nn::BufferTensor seen = zeros({2}, {.dtype = DType::f64});
  Tensor forward(const Tensor& x) {
    const Tensor flat = x.flatten(1);
    if (is_training()) {
      const autograd::NoGrad off;
      const Tensor first = flat.narrow(1, 0, 1);
      const auto n = static_cast<double>(x.size(0));
      last.copy_(first.narrow(0, x.size(0) - 1, 1).flatten());
      average.mul_(0.5).add_(mean(first).reshape({1}), 0.5);
      rows.add_(full({}, n, {.dtype = DType::i64, .device = x.device()}));
      seen.add_(full({2}, n, {.dtype = DType::f64, .device = x.device()}));
    }
    return layer(flat);
  }
  TANDEM_MODULE(Notes, layer, last, average, rows, seen)
};

const std::vector<BufferRule> kRules{
    {"av*age", BufferMerge::mean}, {"rows", BufferMerge::sum}, {"s*", BufferMerge::sum}};

TEST(BufferRulesTest, MeansAndSumsAreThoseOfOneDevice) {
  for (const Sizes& sizes :
       {Sizes{6, 23, 0}, Sizes{6, 0, 23}, Sizes{0, 12, 17}, Sizes{29, 0, 0}, Sizes{9, 10, 10}}) {
    Notes net;
    Notes alone = nn::clone(net);
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes, .buffers = kRules});
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const Batch batch = make_batch(29, seed, DType::f64, false);
      alone(batch.x);
      if (seed == 2) {
        dp(batch.x);  // commits its buffers too
      } else {
        dp.step(batch, kLoss);
      }
    }
    EXPECT_NEAR(net.average.to_doubles()[0], alone.average.to_doubles()[0], 1e-12)
        << ::testing::PrintToString(sizes);
    EXPECT_EQ(net.rows.to_doubles(), alone.rows.to_doubles());
    EXPECT_EQ(net.rows.item(), 187);
    EXPECT_EQ(net.seen.to_doubles(), alone.seen.to_doubles());
  }
}

TEST(BufferRulesTest, WithoutARuleTheFirstDeviceThatHasRowsCounts) {
  for (const Sizes& sizes : {Sizes{6, 23, 0}, Sizes{0, 12, 17}}) {
    Notes net;
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    const Batch batch = make_batch(29, 1, DType::f64, false);
    dp.step(batch, kLoss);
    const std::int64_t rows = sizes[0] > 0 ? sizes[0] : sizes[1];
    EXPECT_EQ(net.rows.item(), 100 + static_cast<double>(rows));
    EXPECT_EQ(net.last.item(), batch.x.flatten(1).select(1, 0).to_doubles().at(rows - 1));
  }
}

TEST(BufferRulesTest, WhatAnEvaluationWritesComesToTheModule) {
  for (const Sizes& sizes : {Sizes{2, 3, 0}, Sizes{0, 1, 4}, Sizes{5, 0, 0}}) {
    Counts net;
    Counts alone = nn::clone(net);
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    const Tensor x = ones({5, 3}, {.dtype = DType::f64});
    for (int call = 0; call < 6; ++call) {
      call == 3 ? dp.train() : dp.eval();
      EXPECT_EQ(dp(x).to_doubles(), alone(x).to_doubles()) << call;
      EXPECT_EQ(net.calls.to_doubles(), alone.calls.to_doubles()) << call;
    }
  }
}

TEST(BufferRulesTest, MeansAndSumsDoNotChangeInEvaluation) {
  Counts net;
  DataParallel dp(net, {.devices = devices(3), .buffers = {{"calls", BufferMerge::sum}}});
  const Tensor x = ones({5, 3}, {.dtype = DType::f64});
  dp.eval();
  const auto first = dp(x).to_doubles();
  EXPECT_EQ(dp(x).to_doubles(), first);
  EXPECT_THAT(net.calls.to_doubles(), ElementsAre(0, 0));
}

TEST(BufferRulesTest, MicroBatchesAddUpOnEveryDevice) {
  Notes net;
  // Of five rows in three parts no device has rows of all parts.
  DataParallel dp(
      net, {.devices = devices(3), .chunk_sizes = {1, 1, 3}, .accumulate = 3, .buffers = kRules});
  dp.step(make_batch(5, 1, DType::f64, false), kLoss);
  EXPECT_EQ(net.rows.item(), 105);
  EXPECT_THAT(net.seen.to_doubles(), ElementsAre(5, 5));
}

TEST(BufferRulesTest, AFailedCallLeavesThem) {
  for (const bool replicas_have_them : {false, true}) {
    Notes net;
    DataParallel dp(net, {.devices = devices(2), .buffers = kRules});
    const Batch batch = make_batch(6, 1, DType::f64, false);
    const auto before = values_of(net);
    if (replicas_have_them) {
      dp.eval();
      dp(batch.x);
      dp.train();
    }
    EXPECT_THROW(dp.step(batch,
                         [](Notes& m, const Batch& b) {
                           const Tensor y = m(b.x);
                           if (context().replica == 1) throw std::runtime_error("late");
                           return cross_entropy_sum(y, b.labels);
                         }),
                 ReplicaError);
    EXPECT_EQ(values_of(net), before);
    dp.step(batch, kLoss);
    EXPECT_EQ(net.rows.item(), 106);
  }
}

TEST(BufferRulesTest, AFailedStepAfterAnEvaluationLeavesThemInTheReplicasToo) {
  NormMlp net;
  NormMlp alone = nn::clone(net);
  DataParallel dp(net, {.devices = devices(2)});
  const Batch batch = make_batch(8, 1, DType::f64, false);
  dp.eval();
  dp(batch.x);
  dp.train();
  EXPECT_THROW(dp.step(batch,
                       [](NormMlp& m, const Batch& b) -> WeightedSum {
                         m(b.x);
                         throw std::runtime_error("late");
                       }),
               ReplicaError);
  dp.step(batch, kLoss);
  alone(batch.x);
  for (const auto& [name, x] : alone.named_buffers()) {
    const auto got = net.state_dict().at(name).to_doubles();
    EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleNear(1e-14), x.to_doubles())) << name;
  }
}

TEST(BufferRulesTest, RulesThatCannotBeKeptAreRefused) {
  Notes net;
  const auto refusal = [&](BufferRule rule) {
    return thrown_text<InvalidArgument>(
        [&] { DataParallel(net, {.devices = devices(2), .buffers = {std::move(rule)}}); });
  };
  EXPECT_THAT(refusal({"rows", BufferMerge::mean}),
              HasSubstr("the mean of buffer 'rows', which is i64, would be rounded; use "
                        "BufferMerge::sum or BufferMerge::first"));
  EXPECT_THAT(refusal({"row", BufferMerge::sum}),
              HasSubstr("'row' matches no buffer; the module has last, average, rows, seen"));
}

TEST(BuffersTest, AnEvaluationOfFewRowsLeavesNoDeviceBehind) {
  manual_seed(6);
  NormMlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::server, .gpu0_bsz = 2});
  const Batch batch = make_batch(9, 3, DType::f64, false);
  for (int step = 0; step < 2; ++step) {
    dp.train();
    dp.step(batch, kLoss, &optimizer);
    dp.step(make_batch(2, 5, DType::f64, false), kLoss, &optimizer);  // device 0 alone
    dp.eval();
    const autograd::NoGrad off;
    dp(batch.x.narrow(0, 0, 1));  // device 0 alone
    const Tensor whole = net(batch.x);
    EXPECT_LE(amax(abs(dp(batch.x) - whole)).item(), 1e-13) << "step " << step;
  }
}

TEST(BuffersTest, StatisticsThatAllReplicasHaveAreNotSentAgain) {
  NormMlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, {.devices = devices(3)});
  const Batch batch = make_batch(9, 3, DType::f64, false);
  const auto sent = [&] {
    std::size_t nbytes = 0;
    for (const auto& [link, traffic] :
         profile::traffic(profile::record([&] { dp.step(batch, kLoss, &optimizer); })))
      nbytes += traffic.by_category[static_cast<std::size_t>(Category::buffer)];
    return nbytes;
  };
  EXPECT_GT(sent(), 0U);
  EXPECT_EQ(sent(), 0U);
  net.norm.running_mean.fill_(1);  // the user's change goes out
  EXPECT_GT(sent(), 0U);
}

}  // namespace
}  // namespace tandem::parallel::test
