// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that compute and reduce in 16 bits from shares in f32, held against one device that does
// the same by hand.
#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/step_record.hpp"

#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kRankCount = 3;
constexpr std::int64_t kRowsOfEach = 4;
constexpr double kRate = 0.1;

/// As many rows for each rank.
Batch even_batch(int step) {
  return make_batch(
      kRankCount * kRowsOfEach, 40 + static_cast<std::uint64_t>(step), DType::f32, false);
}

/// The gradients of one rank's rows, computed in `dtype`.
std::vector<Tensor> gradients_in(const Mlp& masters, const Batch& batch, int rank, DType dtype) {
  Mlp net = nn::clone(masters);
  net.to(dtype);
  const Tensor x = batch.x.narrow(0, rank * kRowsOfEach, kRowsOfEach).to(dtype);
  cross_entropy(net(x), batch.labels.narrow(0, rank * kRowsOfEach, kRowsOfEach)).backward();
  std::vector<Tensor> gradients;
  for (const Tensor& p : net.parameters())
    gradients.push_back(p.grad().detach());
  return gradients;
}

/// The mean over the ranks of the gradients of a batch, added up in `reduce`, in f32.
std::vector<Tensor> mean_gradients(const Mlp& masters,
                                   const Batch& batch,
                                   DType dtype,
                                   DType reduce) {
  std::vector<Tensor> sums;
  for (int r = 0; r < kRankCount; ++r) {
    const std::vector<Tensor> own = gradients_in(masters, batch, r, dtype);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const Tensor part = (own[i].to(reduce) * (1.0 / kRankCount)).to(DType::f32);
      if (r == 0)
        sums.push_back(part);
      else
        sums[i] = sums[i] + part;
    }
  }
  for (Tensor& sum : sums)
    sum = sum.to(reduce).to(DType::f32);
  return sums;
}

/// Masters after steps of SGD, each of two backwards.
Values by_hand(const Mlp& start, DType dtype, DType reduce) {
  const autograd::NoGrad off;
  Mlp masters = nn::clone(start);
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> sums;
    for (int part = 0; part < 2; ++part) {
      std::vector<Tensor> mean;
      {
        const ContextScope on([](Context& c) { c.grad_enabled = true; });
        mean = mean_gradients(masters, even_batch(2 * step + part), dtype, reduce);
      }
      for (std::size_t i = 0; i < mean.size(); ++i) {
        if (part == 0)
          sums.push_back(mean[i]);
        else
          sums[i] = sums[i] + mean[i];
      }
    }
    std::size_t i = 0;
    for (Tensor p : masters.parameters()) {
      Tensor values = p.detach();
      values.copy_(values - sums[i++] * kRate);
    }
  }
  return values_of(masters);
}

Values by_ranks(const Mlp& start, const MixedPrecisionPolicy& precision) {
  Results results;
  with_nets(kRankCount, start, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, {.precision = precision});
    optim::SGD optimizer(net.named_parameters(), {.lr = kRate});
    for (int step = 0; step < 6; ++step) {
      const Batch rows = rows_of(even_batch(step), rank);
      const Tensor y = fsdp(rows.x);
      EXPECT_EQ(y.dtype(), precision.output_dtype.value_or(*precision.param_dtype));
      cross_entropy(y, rows.labels).backward();
      if (step % 2 == 0) continue;
      optimizer.step();
      optimizer.zero_grad();
    }
    results.put(rank, unsharded_values(fsdp));
  });
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_EQ(values, results.by_rank().at(0)) << "rank " << rank;
  return results.by_rank().at(0);
}

TEST(FsdpPrecision, ComputesAndReducesInItsTypesFromMastersInF32) {
  manual_seed(3);
  const Mlp start(DType::f32);
  const Values wide = by_hand(start, DType::f32, DType::f32);
  for (const DType reduce : {DType::f32, DType::bf16}) {
    const Values expected = by_hand(start, DType::bf16, reduce);
    EXPECT_GT(difference(expected, wide), 1e-5);  // or nothing was rounded
    const Values found = by_ranks(start, {.param_dtype = DType::bf16, .reduce_dtype = reduce});
    EXPECT_LE(difference(found, expected), 1e-6) << reduce;
  }
  EXPECT_GT(
      difference(by_hand(start, DType::bf16, DType::bf16), by_hand(start, DType::bf16, DType::f32)),
      1e-6);
}

TEST(FsdpPrecision, WithoutAReduceTypeReducesAsItComputes) {
  manual_seed(3);
  const Mlp start(DType::f32);
  EXPECT_EQ(by_ranks(start, {.param_dtype = DType::bf16}),
            by_ranks(start, {.param_dtype = DType::bf16, .reduce_dtype = DType::bf16}));
}

TEST(FsdpPrecision, HasOutputsOfItsType) {
  manual_seed(3);
  const Mlp start(DType::f32);
  by_ranks(start, {.param_dtype = DType::bf16, .output_dtype = DType::f32});  // looks at them
}

TEST(FsdpPrecision, KeepsMastersAndStateInF32) {
  manual_seed(3);
  const Mlp start(DType::f32);
  const Values before = values_of(const_cast<Mlp&>(start));
  with_nets(2, start, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, {.precision = {.param_dtype = DType::bf16}});
    EXPECT_EQ(net.hidden.weight.dtype(), DType::bf16);
    EXPECT_EQ(unsharded_values(fsdp), before);  // not rounded
    unsharded(fsdp, [&] {
      EXPECT_EQ(net.hidden.weight.dtype(), DType::f32);
      net.hidden.bias.detach().fill_(0.1);  // which bf16 has not
    });
    EXPECT_EQ(net.hidden.weight.dtype(), DType::bf16);
    Values changed = before;
    std::ranges::fill(changed["hidden.bias"], static_cast<double>(0.1F));
    EXPECT_EQ(unsharded_values(fsdp), changed);
    optim::Adam optimizer(net.named_parameters());
    const Batch rows = rows_of(even_batch(0), rank);
    cross_entropy(fsdp(rows.x), rows.labels).backward();
    EXPECT_EQ(optim::clip_grad_norm_(net.parameters(), 1.0).dtype(), DType::f32);
    optimizer.step();
    const optim::OptimizerState state = optimizer.state_dict();
    EXPECT_EQ(state.tensors.at("head.weight.exp_avg").dtype(), DType::f32);
    optimizer.load_state_dict(state);
  });
}

/// Bytes of parameters that ranks send while a module is wrapped, and in so many forwards.
std::size_t sent(const Mlp& start, int forwards, const MixedPrecisionPolicy& precision) {
  const auto record = profile::record([&] {
    with_nets(2, start, [&](Mlp& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, {.precision = precision});
      const autograd::NoGrad off;
      for (int k = 0; k < forwards; ++k)
        fsdp(rows_of(even_batch(0), rank).x);
    });
  });
  std::size_t sum = 0;
  for (const auto& [link, traffic] : profile::traffic(record))
    sum += traffic.by_category[static_cast<std::size_t>(Category::parameter)];
  return sum;
}

TEST(FsdpPrecision, GathersHalfTheBytes) {
  const Mlp start(DType::f32);
  const MixedPrecisionPolicy half{.param_dtype = DType::bf16};
  const std::size_t wrapping = sent(start, 0, {});
  EXPECT_EQ(sent(start, 0, half), wrapping);
  EXPECT_GT(sent(start, 3, {}), wrapping);
  EXPECT_EQ(sent(start, 3, {}) - wrapping, 2 * (sent(start, 3, half) - wrapping));
}

TEST(FsdpPrecision, OfBadTypesOrWithoutSharesIsRefused) {
  const Mlp start(DType::f32);
  using Options = FullyShardedDataParallelOptions;
  with_nets(2, start, [](Mlp& net, Rank& rank) {
    const auto refusal = [&](const Options& options, const auto& text) {
      EXPECT_THAT([&] { FullyShardedDataParallel fsdp(net, rank, options); },
                  ThrowsMessage<InvalidArgument>(text));
    };
    refusal({.precision = {.param_dtype = DType::i32}},
            AllOf(HasSubstr("precision.param_dtype is i32"), HasSubstr("float type")));
    for (const MixedPrecisionPolicy& half : {MixedPrecisionPolicy{.param_dtype = DType::bf16},
                                             MixedPrecisionPolicy{.reduce_dtype = DType::bf16},
                                             MixedPrecisionPolicy{.output_dtype = DType::bf16}})
      refusal({.strategy = ShardingStrategy::no_shard, .precision = half},
              HasSubstr("precision is for shares of parameters"));
    FullyShardedDataParallel fsdp(
        net, rank, {.precision = {.param_dtype = DType::bf16, .cast_forward_inputs = false}});
    EXPECT_THROW(fsdp(rows_of(even_batch(0), rank).x), InvalidArgument);  // f32 and bf16 meet
  });
}

}  // namespace
}  // namespace tandem::parallel::test
