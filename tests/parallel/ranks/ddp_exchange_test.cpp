// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What ranks exchange, and when: hooks, the order of buckets, static graphs.

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/loss.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/ranks.hpp"
#include "parallel/reduce/buckets.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::thrown_text;
using ByRank = std::map<int, Values>;

/// Gradients of `batch` on the ranks, by rank, with `setup(ddp)` before.
template <class Setup>
ByRank gradients_with(const Mlp& alone, const Batch& batch, Setup setup) {
  Results results;
  with_copies(alone, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank, small_buckets());
    setup(ddp);
    const Batch part = part_of(batch, rank);
    cross_entropy(ddp(part.x), part.labels).backward();
    results.put(rank, gradients_of(net));
  });
  return results.by_rank();
}

Values whole_gradients(Mlp& alone, const Batch& batch) {
  cross_entropy(alone(batch.x), batch.labels).backward();
  return gradients_of(alone);
}

TEST(DdpHooksTest, CompressionRoundsTheMean) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  const auto with = [&](CommHook hook) {
    return gradients_with(alone, batch, [&](auto& ddp) { ddp.register_comm_hook(hook); });
  };
  const ByRank exact = with(allreduce_hook), half = with(fp16_compress_hook),
               brain = with(bf16_compress_hook);
  const Values wanted = whole_gradients(alone, batch);
  for (int r = 0; r < 3; ++r) {
    EXPECT_LE(difference(exact.at(r), wanted), 1e-14);
    const double in_half = difference(half.at(r), wanted),
                 in_brain = difference(brain.at(r), wanted);
    EXPECT_LE(in_half, 2e-3);
    EXPECT_GT(in_half, 1e-6) << "sent in f16, it is not exact";
    EXPECT_LE(in_brain, 2e-2);
    EXPECT_GT(in_brain, in_half);
    EXPECT_EQ(half.at(r), half.at(0));
  }
}

TEST(DdpHooksTest, WithoutExchangeEachRankKeepsItsOwn) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  const ByRank results =
      gradients_with(alone, batch, [](auto& ddp) { ddp.register_comm_hook(noop_hook); });
  const Tensor x = batch.x.narrow(0, kRows[0], kRows[1]);
  const double weight = 3.0 * static_cast<double>(kRows[1]) / static_cast<double>(kBatch);
  (cross_entropy(alone(x), batch.labels.narrow(0, kRows[0], kRows[1])) * weight).backward();
  EXPECT_LE(difference(results.at(1), gradients_of(alone)), 1e-14);
}

TEST(DdpHooksTest, TheUsersOwnGetsEachBucketInOrder) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  const Mlp alone;
  std::mutex mutex;
  std::map<int, std::vector<GradBucket>> seen;
  gradients_with(alone, batch, [&](auto& ddp) {
    ddp.register_comm_hook([&](comm::Communicator& comm, const GradBucket& bucket) {
      {
        const std::scoped_lock lock(mutex);
        seen[comm.rank()].push_back(bucket);
      }
      return allreduce_hook(comm, bucket);
    });
  });
  ASSERT_EQ(seen.size(), 3u);
  for (const auto& [rank, buckets] : seen) {
    std::vector<std::string> names;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      EXPECT_EQ(buckets[b].index, static_cast<int>(b));
      EXPECT_EQ(buckets[b].is_last, b + 1 == buckets.size());
      names.insert(names.end(), buckets[b].parameters.begin(), buckets[b].parameters.end());
    }
    EXPECT_THAT(names, ElementsAre("head.bias", "head.weight", "hidden.bias", "hidden.weight"));
    EXPECT_GT(buckets.size(), 1u);
  }
}

TEST(DdpHooksTest, IsRegisteredOnceAndMayCallAnother) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Mlp alone;
  const ByRank results = gradients_with(alone, batch, [](auto& ddp) {
    ddp.register_comm_hook([](comm::Communicator& comm, const GradBucket& bucket) {
      return allreduce_hook(comm, bucket).then([own = bucket.gradients] {
        const autograd::NoGrad off;
        for (Tensor x : own)
          x.mul_(10);
      });
    });
    EXPECT_THAT(thrown_text([&] { ddp.register_comm_hook(noop_hook); }), HasSubstr("already"));
  });
  cross_entropy(alone(batch.x), batch.labels).backward();
  Values wanted = gradients_of(alone);
  for (auto& [name, values] : wanted)
    for (double& v : values)
      v *= 10;
  EXPECT_LE(difference(results.at(2), wanted), 1e-13);
}

TEST(DdpHooksTest, AHookThatThrowsFreesTheOthers) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  const auto texts = errors_of([&](Rank& rank) {
    Mlp net;
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank);
    ddp.register_comm_hook([](comm::Communicator& comm, const GradBucket& bucket) {
      if (comm.rank() == 1) throw std::runtime_error("the hook's");
      return allreduce_hook(comm, bucket);
    });
    const Batch part = part_of(batch, rank);
    cross_entropy(ddp(part.x), part.labels).backward();
    net.head.bias.grad();
  });
  EXPECT_THAT(texts.at(1), HasSubstr("the hook's"));
  EXPECT_THAT(texts.at(0), HasSubstr("stopped because"));
}

/// Declared in another order than they run: `last` runs first.
struct Shuffled : nn::Module {
  nn::Linear b{16, 16, {.dtype = DType::f64}}, c{16, 5, {.dtype = DType::f64}},
      a{12, 16, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return c(tanh(b(tanh(a(x.flatten(1)))))); }
  TANDEM_MODULE(Shuffled, b, c, a)
};

TEST(DdpOrderTest, BucketsAreRebuiltOnceInTheOrderOfTheFirstBackward) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Shuffled alone;
  Results results;
  std::mutex mutex;
  std::vector<DdpLoggingData> logs;
  with_copies(alone, [&](Shuffled& net, Rank& rank) {
    DistributedDataParallelOptions options = small_buckets();
    options.exchange.bucket_nbytes = 2500;
    DistributedDataParallel ddp(net, rank, options);
    optim::SGD sgd(net.parameters(), {.lr = 0.1});
    const Batch part = part_of(batch, rank);
    for (int step = 0; step < 3; ++step) {
      sgd.zero_grad();
      cross_entropy(ddp(part.x), part.labels).backward();
      sgd.step();
      EXPECT_EQ(ddp.logging_data().has_rebuilt_buckets, step > 0);
    }
    results.put(rank, values_of(net));
    const std::scoped_lock lock(mutex);
    logs.push_back(ddp.logging_data());
  });
  optim::SGD sgd(alone.parameters(), {.lr = 0.1});
  for (int step = 0; step < 3; ++step) {
    sgd.zero_grad();
    cross_entropy(alone(batch.x), batch.labels).backward();
    sgd.step();
  }
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, values_of(alone)), 1e-13) << rank;
  for (const DdpLoggingData& log : logs) {
    EXPECT_THAT(log.prev_iteration_grad_ready_order,
                ElementsAre("c.bias", "c.weight", "b.bias", "b.weight", "a.bias", "a.weight"));
    EXPECT_NE(log.rebuilt_bucket_sizes, log.bucket_sizes);
    const auto sum = [](const std::vector<std::size_t>& sizes) {
      return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    };
    EXPECT_EQ(sum(log.rebuilt_bucket_sizes), sum(log.bucket_sizes));
    EXPECT_EQ(log.iterations, 3);
    EXPECT_EQ(log.world_size, 3);
    EXPECT_GT(log.avg.forward_compute.count(), 0);
    EXPECT_GT(log.last.backward_compute.count(), 0);
    EXPECT_GE(log.last.backward_comm, log.last.backward_compute_comm_overlap);
  }
}

TEST(DdpOrderTest, BucketsAsReadyHoldEveryPlaceOnceWithNeighboursTogether) {
  Shuffled net;
  std::vector<optim::ArenaEntry> entries;
  for (const nn::NamedTensor& p : net.named_parameters())
    entries.push_back({p.name, p.tensor});
  const auto arena = optim::Arena::obtain(std::move(entries), {});
  const optim::ArenaLayout& layout = arena->layout();
  const auto buckets = plan_buckets_as_ready(layout, {2, 5, 3}, 1, 1 << 20);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_THAT(buckets[0].places, ElementsAre(2u));
  EXPECT_THAT(buckets[1].places, ElementsAre(5u, 3u, 4u, 1u, 0u)) << "the rest from the last on";
  ASSERT_EQ(buckets[1].runs.size(), 2u) << "around place 2";
  EXPECT_EQ(buckets[1].runs[0].begin, 0);
  EXPECT_EQ(buckets[1].runs[0].end, layout.places()[2].offset);
  EXPECT_EQ(buckets[1].runs[1].begin, layout.places()[3].offset);
  EXPECT_EQ(buckets[1].runs[1].end, layout.blocks()[0].numel);
}

TEST(DdpStaticGraphTest, LeavesOutWhatTheFirstIterationDid) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  Branches alone;
  Results results;
  std::atomic<int> unset{0};
  with_copies(alone, [&](Branches& net, Rank& rank) {
    net.both = rank.rank() == 1;
    DistributedDataParallelOptions options = small_buckets();
    options.static_graph = true;
    DistributedDataParallel ddp(net, rank, options);
    const Batch part = part_of(batch, rank);
    for (int step = 0; step < 3; ++step) {
      for (Tensor& p : net.parameters())
        p.set_grad({});
      cross_entropy(ddp(part.x), part.labels).backward();
      EXPECT_TRUE(net.second.weight.grad().defined()) << rank.rank();
      unset += net.never.weight.grad().defined() ? 0 : 1;
    }
    results.put(rank, {{"second", net.second.weight.grad().to_doubles()}});
  });
  EXPECT_EQ(unset, 9);
  EXPECT_EQ(results.by_rank().at(0), results.by_rank().at(1));
}

TEST(DdpStaticGraphTest, AnotherGraphIsNamed) {
  const Batch batch = make_batch(kBatch, 7, DType::f64, false);
  const auto texts = errors_of([&](Rank& rank) {
    Branches net;
    net.to(rank.device());
    DistributedDataParallel ddp(net, rank, {.static_graph = true});
    const Batch part = part_of(batch, rank);
    for (int step = 0; step < 2; ++step) {
      net.both = step == 0;
      for (Tensor& p : net.parameters())
        p.set_grad({});
      cross_entropy(ddp(part.x), part.labels).backward();
      net.first.bias.grad();
    }
  });
  EXPECT_THAT(texts.at(0) + texts.at(1) + texts.at(2),
              AllOf(HasSubstr("static_graph"), HasSubstr("'second.weight'"), HasSubstr("differs")));
}

TEST(DdpConversionTest, GivesEveryBatchNormItsWay) {
  Cnn net(DType::f64, BatchNormSync::per_replica);
  EXPECT_EQ(nn::convert_sync_batchnorm(net), 2);
  EXPECT_EQ(net.norm1.options().sync, BatchNormSync::synchronised);
  EXPECT_EQ(net.norm2.options().sync, BatchNormSync::synchronised);
}

}  // namespace
}  // namespace tandem::parallel::test
