// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Ranks that have different numbers of batches.

#include <map>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using ByRank = std::map<int, Values>;

/// Batches of the ranks: rank 1 has two, the others three and five.
constexpr int kCounts[] = {3, 2, 5};

/// Made before the ranks run, which share the generator of random numbers.
Batch batch_of(int step, int rank) {
  static const std::vector<Batch> batches = [] {
    std::vector<Batch> all;
    for (std::uint64_t seed = 0; seed < 45; ++seed)
      all.push_back(make_batch(2 + static_cast<int>(seed % 3), 100 + seed, DType::f64, false));
    return all;
  }();
  return batches[static_cast<std::size_t>(3 * step + rank)];
}

/// Weights after SGD over uneven inputs on three ranks, by rank.
ByRank join_ranks(const Cnn& alone,
                  const DistributedDataParallelOptions& options,
                  const JoinOptions& join) {
  Results results;
  batch_of(0, 0);
  with_copies(alone, [&](Cnn& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, options);
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    ddp.join(
        [&] {
          for (int step = 0; step < kCounts[rank.rank()]; ++step) {
            const Batch batch = batch_of(step, rank.rank());
            sgd.zero_grad();
            cross_entropy(ddp(batch.x.to(rank.device())), batch.labels.to(rank.device()))
                .backward();
            sgd.step();
          }
        },
        join);
    results.put(rank, values_of(net));
  });
  return results.by_rank();
}

/// One device's: `weight(rows, all rows, active ranks)` is what a rank's mean counts.
template <class Weight>
Values serial(Cnn net, Weight weight) {
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  for (int step = 0; step < 5; ++step) {
    std::vector<Batch> parts;
    for (int r = 0; r < 3; ++r)
      if (step < kCounts[r]) parts.push_back(batch_of(step, r));
    std::vector<Tensor> xs;
    double all = 0;
    for (const Batch& part : parts) {
      xs.push_back(part.x);
      all += static_cast<double>(part.x.size(0));
    }
    const Tensor y = net(cat(xs, 0));  // batch norm over the rows of all
    Tensor loss = zeros({}, {.dtype = DType::f64});
    std::int64_t begin = 0;
    for (const Batch& part : parts) {
      const std::int64_t rows = part.x.size(0);
      loss = loss + cross_entropy(y.narrow(0, begin, rows), part.labels) *
                        weight(static_cast<double>(rows), all, static_cast<double>(parts.size()));
      begin += rows;
    }
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  return values_of(net);
}

TEST(DdpJoinTest, UnevenInputsGiveTheMeanOverTheRowsThatThereAre) {
  Cnn alone;
  const ByRank results = join_ranks(alone, small_buckets(), {});
  const Values wanted =
      serial(nn::clone(alone), [](double rows, double all, double) { return rows / all; });
  for (const auto& [rank, values] : results)
    EXPECT_LE(difference(values, wanted), 1e-12) << rank;
}

TEST(DdpJoinTest, DividesByTheInitialOrThePresentWorldSize) {
  Cnn alone;
  DistributedDataParallelOptions options = small_buckets();
  options.average = Average::world_size;
  const ByRank initial = join_ranks(alone, options, {});
  const ByRank present = join_ranks(alone, options, {.divide = Divide::by_present_world_size});
  const Values of_initial =
      serial(nn::clone(alone), [](double, double, double) { return 1.0 / 3; });
  const Values of_present =
      serial(nn::clone(alone), [](double, double, double active) { return 1 / active; });
  for (int r = 0; r < 3; ++r) {
    EXPECT_LE(difference(initial.at(r), of_initial), 1e-12) << r;
    EXPECT_LE(difference(present.at(r), of_present), 1e-12) << r;
  }
}

TEST(DdpJoinTest, MayEndAllRanksWhenTheFirstHasNoMore) {
  Cnn alone;
  batch_of(0, 0);
  const auto texts = errors_of([&](Rank& rank) {
    Cnn net = nn::clone(alone);
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    ddp.join(
        [&] {
          for (int step = 0; step < kCounts[rank.rank()]; ++step) {
            const Batch batch = batch_of(step, rank.rank());
            cross_entropy(ddp(batch.x.to(rank.device())), batch.labels.to(rank.device()))
                .backward();
          }
        },
        {.throw_on_early_termination = true});
  });
  for (int r = 0; r < 3; ++r)
    EXPECT_THAT(
        texts.at(r),
        ::testing::AnyOf(HasSubstr("rank 1 has no more batches"), HasSubstr("stopped because")));
}

TEST(DdpJoinTest, GoesOnUnderNoSyncAndASecondJoin) {
  const Mlp alone;
  Results results;
  batch_of(0, 0);
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, small_buckets());
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    for (int round = 0; round < 2; ++round) {
      ddp.join([&] {
        for (int step = 0; step < kCounts[rank.rank()]; ++step) {
          const Batch first = batch_of(step, rank.rank()), second = batch_of(step + 9, rank.rank());
          const auto backward = [&](const Batch& b) {
            cross_entropy(ddp(b.x.to(rank.device())), b.labels.to(rank.device())).backward();
          };
          sgd.zero_grad();
          {
            const auto scope = ddp.no_sync();
            backward(first);
          }
          backward(second);
          sgd.step();
        }
      });
    }
    EXPECT_EQ(ddp.logging_data().iterations, 10) << "five of each round, joined or not";
    results.put(rank, values_of(net));
  });
  EXPECT_EQ(results.by_rank().at(0), results.by_rank().at(2));
  EXPECT_EQ(results.by_rank().at(1), results.by_rank().at(2));
}

}  // namespace
}  // namespace tandem::parallel::test
