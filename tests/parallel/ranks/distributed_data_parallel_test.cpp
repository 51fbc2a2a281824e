// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/distributed_data_parallel.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "parallel/ranks.hpp"

// Programs of one rank each, held against one device that has the whole batch.
namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(DdpTest, RanksOfUnequalRowsHaveOneDevicesWeights) {
  manual_seed(3);
  Cnn alone;
  std::vector<Batch> batches;
  for (int step = 0; step < 5; ++step)
    batches.push_back(make_batch(kBatch, 40 + static_cast<std::uint64_t>(step), DType::f64, false));
  Results results;
  with_copies(alone, [&](Cnn& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, small_buckets());
    optim::AdamW optimizer(net.named_parameters());
    for (const Batch& batch : batches) {
      const Batch part = part_of(batch, rank);
      optimizer.zero_grad();
      cross_entropy(ddp(part.x), part.labels).backward();
      optim::clip_grad_norm_(net.parameters(), 0.5);
      optimizer.step();
    }
    results.put(rank, values_of(net));
  });
  optim::AdamW optimizer(alone.named_parameters());
  for (const Batch& batch : batches) {
    optimizer.zero_grad();
    cross_entropy(alone(batch.x), batch.labels).backward();
    optim::clip_grad_norm_(alone.parameters(), 0.5);
    optimizer.step();
  }
  for (const auto& [rank, values] : results.by_rank()) {
    EXPECT_LE(difference(values, values_of(alone)), 1e-12) << "rank " << rank;
    EXPECT_EQ(values, results.by_rank().at(0)) << "rank " << rank << ": other bits than rank 0";
  }
  ASSERT_EQ(results.by_rank().size(), 3u);
}

TEST(DdpTest, DividingByTheWorldSizeIsTheMeanOfTheRanksMeans) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  Results results;
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, {.average = Average::world_size});
    const Batch part = part_of(batch, rank);
    cross_entropy(ddp(part.x), part.labels).backward();
    results.put(rank, gradients_of(net));
  });
  Tensor loss = zeros({}, {.dtype = DType::f64});
  std::int64_t begin = 0;
  for (const std::int64_t rows : kRows) {
    loss = loss + cross_entropy(alone(batch.x.narrow(0, begin, rows)),
                                batch.labels.narrow(0, begin, rows)) /
                      3.0;
    begin += rows;
  }
  loss.backward();
  EXPECT_LE(difference(results.by_rank().at(1), gradients_of(alone)), 1e-13);
}

TEST(DdpTest, GradientsAddUpUnderNoSyncAndOverBackwards) {
  const Batch first = make_batch(kBatch, 7, DType::f64, false);
  const Batch second = make_batch(kBatch, 8, DType::f64, false);
  Mlp alone;
  Results inside, after, again;
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, small_buckets());
    const auto backward = [&](const Batch& batch) {
      const Batch part = part_of(batch, rank);
      cross_entropy(ddp(part.x), part.labels).backward();
    };
    {
      const auto scope = ddp.no_sync();
      backward(first);
      inside.put(rank, gradients_of(net));
    }
    backward(second);
    after.put(rank, gradients_of(net));
    backward(first);  // on top of what is reduced
    again.put(rank, gradients_of(net));
  });
  cross_entropy(alone(first.x), first.labels).backward();
  EXPECT_GT(difference(inside.by_rank().at(0), inside.by_rank().at(1)), 1e-3) << "was reduced";
  cross_entropy(alone(second.x), second.labels).backward();
  EXPECT_LE(difference(after.by_rank().at(2), gradients_of(alone)), 1e-13);
  cross_entropy(alone(first.x), first.labels).backward();
  EXPECT_LE(difference(again.by_rank().at(1), gradients_of(alone)), 1e-13);
}

TEST(DdpTest, APenaltyBesideTheOutputsCountsOnce) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  Results results;
  const auto penalised = [](Mlp& net, const Tensor& loss) {
    return loss + 0.1 * sum(square(net.hidden.weight));
  };
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank);
    const Batch part = part_of(batch, rank);
    penalised(net, cross_entropy(ddp(part.x), part.labels)).backward();
    results.put(rank, gradients_of(net));
  });
  penalised(alone, cross_entropy(alone(batch.x), batch.labels)).backward();
  EXPECT_LE(difference(results.by_rank().at(2), gradients_of(alone)), 1e-13);
}

TEST(DdpTest, RanksBeginWithRank0sValues) {
  Results results;
  run_ranks(
      devices(3),
      [&](Rank& rank) {
        Cnn net;  // of its own numbers
        net.to(rank.device());
        net.norm1.running_mean.fill_(rank.rank());
        DistributedDataParallel ddp(net, rank);
        results.put(rank, values_of(net));
      },
      kShort);
  EXPECT_EQ(results.by_rank().at(1), results.by_rank().at(0));
  EXPECT_EQ(results.by_rank().at(2), results.by_rank().at(0));
  EXPECT_EQ(results.by_rank().at(2).at("norm1.running_mean"), std::vector<double>(4, 0.0));
}

TEST(DdpTest, OtherModulesAreRefusedOnEveryRank) {
  const auto texts = errors_of([](Rank& rank) {
    nn::Linear net(4, rank.rank() == 1 ? 7 : 3, {.dtype = DType::f64});
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
  });
  EXPECT_THAT(texts.at(1), AllOf(HasSubstr("'weight'"), HasSubstr("(7, 4)"), HasSubstr("(3, 4)")));
  for (const int r : {0, 2})
    EXPECT_THAT(texts.at(r), HasSubstr("rank 1 has a different module"));
}

TEST(DdpTest, WhatCannotBeWrappedIsRefused) {
  const auto frozen = errors_of([](Rank& rank) {
    Mlp net;
    net.to(rank.device());
    for (Tensor& p : net.parameters())
      p.requires_grad_(false);
    DistributedDataParallel ddp(net, rank);
  });
  EXPECT_THAT(frozen.at(0), HasSubstr("requires a gradient"));
  const auto elsewhere = errors_of([](Rank& rank) {
    Mlp net;
    net.to(testing::device(0));
    DistributedDataParallel ddp(net, rank);
  });
  EXPECT_THAT(elsewhere.at(2), AllOf(HasSubstr("'hidden.weight'"), HasSubstr("rank.device()")));
  const auto twice = errors_of([](Rank& rank) {
    Mlp net;
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    DistributedDataParallel again(net, rank);
  });
  EXPECT_THAT(twice.at(1), HasSubstr("is already wrapped"));
}

TEST(DdpTest, UnusedParametersAreNamed) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  const auto texts = errors_of([&](Rank& rank) {
    Branches net;
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    const Batch part = part_of(batch, rank);
    cross_entropy(ddp(part.x), part.labels).backward();
    net.first.weight.grad();
  });
  for (const auto& [rank, text] : texts) {
    EXPECT_THAT(text,
                AnyOf(AllOf(HasSubstr("'never.weight'"),
                            HasSubstr("'never.bias'"),
                            HasSubstr("find_unused_parameters"),
                            ::testing::Not(HasSubstr("'second"))),
                      HasSubstr("stopped because")))
        << rank;
  }
}

TEST(DdpTest, ParametersThatOneRankUsesTrainOnAllAndOthersStayUnset) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Branches alone;
  Results results;
  std::atomic<int> unset{0};
  with_copies(alone, [&](Branches& net, Rank& rank) {
    net.both = rank.rank() == 1;
    // In buckets of their own: ranks start different numbers of them in backward.
    DistributedDataParallelOptions options = small_buckets();
    options.find_unused_parameters = true;
    DistributedDataParallel ddp(net, rank, options);
    const Batch part = part_of(batch, rank);
    cross_entropy(ddp(part.x), part.labels).backward();
    EXPECT_TRUE(net.second.weight.grad().defined()) << rank.rank();
    unset += net.never.weight.grad().defined() ? 0 : 1;
    results.put(rank, {{"second", net.second.weight.grad().to_doubles()}});
  });
  EXPECT_EQ(unset, 3);
  const Tensor x = batch.x.narrow(0, kRows[0], kRows[1]);
  const double weight = static_cast<double>(kRows[1]) / static_cast<double>(kBatch);
  (cross_entropy(alone(x), batch.labels.narrow(0, kRows[0], kRows[1])) * weight).backward();
  const Values expected{{"second", alone.second.weight.grad().to_doubles()}};
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, expected), 1e-13) << rank;
}

TEST(DdpTest, ForwardsWithoutBackwardAndWithoutGradientsAreFree) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  Results results;
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank);
    const Batch part = part_of(batch, rank);
    for (int i = 0; i < 3; ++i)
      ddp(part.x);
    if (rank.is_main()) {  // nothing is exchanged
      const autograd::NoGrad off;
      ddp(part.x);
    }
    EXPECT_FALSE(net.head.weight.grad().defined());
    cross_entropy(ddp(part.x), part.labels).backward();
    results.put(rank, gradients_of(net));
  });
  cross_entropy(alone(batch.x), batch.labels).backward();
  EXPECT_LE(difference(results.by_rank().at(0), gradients_of(alone)), 1e-13);
}

TEST(DdpTest, ASecondBackwardOfOneForwardIsRefusedByName) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  const auto texts = errors_of([&](Rank& rank) {
    Mlp net;
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    const Batch part = part_of(batch, rank);
    const Tensor y = ddp(part.x);
    autograd::backward({sum(y)}, {}, {.retain_graph = true});
    autograd::backward({sum(y)});
  });
  EXPECT_THAT(texts.at(0), AnyOf(HasSubstr("no_sync"), HasSubstr("stopped because")));
  EXPECT_THAT(texts.at(0) + texts.at(1) + texts.at(2), HasSubstr("a second backward"));
}

TEST(DdpTest, TwoOutputsMayGoBackwardOneAfterTheOther) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Branches alone;
  Results results;
  with_copies(alone, [&](Branches& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, {.find_unused_parameters = true});
    const Batch part = part_of(batch, rank);
    ddp(part.x);  // readies the reduction; the branches are called one by one
    sum(net.first(part.x.flatten(1))).backward();
    sum(net.second(part.x.flatten(1))).backward();
    results.put(rank,
                {{"first", net.first.bias.grad().to_doubles()},
                 {"second", net.second.bias.grad().to_doubles()}});
  });
  const double expected =
      static_cast<double>(kBatch) / 3;  // the mean over ranks of the sums over rows
  for (const auto& [rank, values] : results.by_rank()) {
    for (const auto& [name, gradient] : values) {
      for (const double g : gradient)
        EXPECT_NEAR(g, expected, 1e-12) << rank << ' ' << name;
    }
  }
}

}  // namespace
}  // namespace tandem::parallel::test
