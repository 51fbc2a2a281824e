// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// The units of FullyShardedDataParallel: where they can be read, in which order, and what is
// refused.
#include <sstream>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/checkpoint.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Two layers of the same sizes, in either order.
struct TwoWays : nn::Module {
  nn::Linear first{12, 12, {.dtype = DType::f64}}, second{12, 12, {.dtype = DType::f64}};
  nn::Linear head{12, 5, {.dtype = DType::f64}};
  bool swapped = false;
  Tensor forward(const Tensor& x) {
    const Tensor rows = x.flatten(1);
    return head(swapped ? tanh(first(tanh(second(rows)))) : tanh(second(tanh(first(rows)))));
  }
  TANDEM_MODULE(TwoWays, first, second, head)
};

/// Uses one layer twice, recomputes it, ties two weights, freezes a layer, and leaves one out.
struct Special : nn::Module {
  Special() {
    tied.weight = shared.weight;
    frozen.weight.requires_grad_(false);
    frozen.bias.requires_grad_(false);
  }
  nn::Linear frozen{12, 6, {.dtype = DType::f64}}, shared{6, 6, {.dtype = DType::f64}};
  nn::Linear tied{6, 6, {.dtype = DType::f64}}, unused{3, 4, {.dtype = DType::f64}};
  nn::Linear head{6, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor y = tanh(shared(tanh(shared(tanh(frozen(x.flatten(1)))))));
    return head(autograd::checkpoint([this](const Tensor& z) { return tanh(tied(z)); }, y));
  }
  TANDEM_MODULE(Special, frozen, shared, tied, unused, head)
};

/// May throw between two layers.
struct ThrowingBetween : TwoWays {
  bool fails = false;
  Tensor forward(const Tensor& x) {
    const Tensor y = tanh(first(x.flatten(1)));
    if (fails) throw InvalidArgument("in the middle");
    return head(tanh(second(y)));
  }
  TANDEM_MODULE(ThrowingBetween, first, second, head)
};

/// Twelve elements.
struct Tiny : nn::Module {
  nn::Linear only{12, 1, {.bias = false, .dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return only(x.flatten(1)); }
  TANDEM_MODULE(Tiny, only)
};

/// A backward of this rank's rows of a step's batch.
template <class Net>
void add_gradients(FullyShardedDataParallel<Net>& fsdp, const Rank& rank, int step) {
  const Batch rows = rows_of(batch_of_step(step), rank);
  cross_entropy(fsdp(rows.x), rows.labels).backward();
}

TEST(FsdpUnits, ThatAreReadElsewhereSayWhatToWrite) {
  Mlp alone;
  with_nets(2, alone, [](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const auto refused = [](const char* unit) {
      return ThrowsMessage<InvalidArgument>(
          AllOf(HasSubstr(std::string("'") + unit + "' is sharded"),
                HasSubstr("unsharded(net, [&] { ... }) on all ranks")));
    };
    EXPECT_THAT([&] { net.head.weight.to_doubles(); }, refused("head"));
    EXPECT_THAT([&] { net.hidden.bias.clone(); }, refused("hidden"));
    EXPECT_THAT([&] { std::ostringstream() << net.hidden.bias; }, refused("hidden"));
    EXPECT_THAT([&] { net.hidden.bias.detach().fill_(1); }, refused("hidden"));
    EXPECT_THAT([&] { nn::clone(net); }, refused("hidden"));
    const Batch rows = rows_of(batch_of_step(0), rank);
    cross_entropy(fsdp(rows.x), rows.labels).backward();
    EXPECT_THAT([&] { net.head.weight.grad().to_doubles(); }, refused("head"));
    EXPECT_THAT([&] { net.head.weight.to_doubles(); }, refused("head"));
    optim::LAMB lamb(net.named_parameters());
    EXPECT_THAT(
        [&] { lamb.step(); },
        ThrowsMessage<InvalidArgument>(AllOf(
            HasSubstr("LAMB"), HasSubstr("'hidden.weight'"), HasSubstr("whole_tensors = true"))));
  });
}

TEST(FsdpUnits, AreNotThereOnceTheWrapperHasEnded) {
  Mlp alone;
  with_nets(2, alone, [](Mlp& net, Rank& rank) {
    { FullyShardedDataParallel fsdp(net, rank); }
    EXPECT_THAT([&] { net.head.weight.to_doubles(); },
                ThrowsMessage<InvalidArgument>(
                    HasSubstr("'head' is sharded over 2 ranks, and its FullyShardedDataParallel")));
  });
}

TEST(FsdpUnits, AreAllThereInUnsharded) {
  Mlp alone;
  const Values before = values_of(alone);
  with_nets(3, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    if (rank.rank() == 0)
      unsharded(fsdp, [&] { EXPECT_EQ(values_of(net), before); });
    else
      unsharded(fsdp, [] {});  // which reads nothing
    unsharded(fsdp, [&] { net.hidden.weight.detach().fill_(rank.rank()); }, {.write_back = false});
    EXPECT_EQ(unsharded_values(fsdp), before);
    EXPECT_THROW(unsharded(fsdp,
                           [&] {
                             net.hidden.weight.detach().fill_(7);
                             throw InvalidArgument("in between");
                           }),
                 InvalidArgument);
    EXPECT_EQ(unsharded_values(fsdp), before);
    unsharded(fsdp, [&] { net.hidden.weight.detach().fill_(7); });
    Values after = before;
    std::ranges::fill(after["hidden.weight"], 7);
    EXPECT_EQ(unsharded_values(fsdp), after);
    EXPECT_TRUE(net.hidden.weight.buffer().is_dropped());
  });
}

TEST(FsdpUnits, AreComparedBetweenRanks) {
  TwoWays alone;
  std::mutex mutex;
  std::string texts;
  const auto run = [&] {
    with_nets(2, alone, [&](TwoWays& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank);
      net.swapped = rank.rank() == 1;
      try {
        fsdp(rows_of(batch_of_step(0), rank).x);
      } catch (const Desync& e) {
        const std::scoped_lock lock(mutex);
        texts += e.what();
        throw;
      }
    });
  };
  EXPECT_THROW(run(), RankError);
  EXPECT_THAT(texts,
              AllOf(HasSubstr("values of unit 'first'"), HasSubstr("values of unit 'second'")));
}

TEST(FsdpUnits, OfAFailedForwardAreThereInTheNext) {
  ThrowingBetween alone;
  Results results;
  with_nets(2, alone, [&](ThrowingBetween& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    const Batch rows = rows_of(batch_of_step(0), rank);
    net.fails = true;
    EXPECT_THROW(fsdp(rows.x), InvalidArgument);
    net.fails = false;
    cross_entropy(fsdp(rows.x), rows.labels).backward();
    optimizer.step();
    results.put(rank, unsharded_values(fsdp));
  });
  optim::SGD optimizer(alone.named_parameters(), {.lr = 0.1});
  const Batch batch = batch_of_step(0);
  cross_entropy(alone(batch.x), batch.labels).backward();
  optimizer.step();
  EXPECT_LE(difference(results.by_rank().at(1), values_of(alone)), 1e-12);
}

TEST(FsdpUnits, MayBeTiedFrozenUnusedRecomputedAndUsedTwice) {
  manual_seed(4);
  Special alone;
  Results results;
  with_nets(3, alone, [&](Special& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::AdamW optimizer(net.named_parameters());
    for (int step = 0; step < 3; ++step) {
      const Batch rows = rows_of(batch_of_step(step), rank);
      optimizer.zero_grad();
      cross_entropy(fsdp(rows.x), rows.labels).backward();
      EXPECT_FALSE(net.unused.weight.grad().defined());
      optimizer.step();
    }
    results.put(rank, unsharded_values(fsdp));
  });
  optim::AdamW optimizer(alone.named_parameters());
  for (int step = 0; step < 3; ++step) {
    const Batch batch = batch_of_step(step);
    optimizer.zero_grad();
    cross_entropy(alone(batch.x), batch.labels).backward();
    optimizer.step();
  }
  EXPECT_LE(difference(results.by_rank().at(2), values_of(alone)), 1e-12);
}

TEST(FsdpUnits, OfAForwardWithoutGradientsSleepAfterIt) {
  Mlp alone;
  const Batch batch = batch_of_step(0);
  const auto expected = [&] {
    const autograd::NoGrad off;
    return alone(batch.x).to_doubles();
  }();
  with_nets(2, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const autograd::NoGrad off;
    EXPECT_EQ(fsdp(batch.x.to(rank.device())).to_doubles(), expected);
    EXPECT_TRUE(net.hidden.weight.buffer().is_dropped());
    EXPECT_TRUE(net.head.weight.buffer().is_dropped());
  });
}

TEST(FsdpUnits, GradientsAddUpUnderNoSyncAndAreReducedAfterIt) {
  Mlp alone;
  Results results;
  with_nets(3, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    const auto backward = [&](int step) { add_gradients(fsdp, rank, step); };
    {
      const auto scope = fsdp.no_sync();
      backward(0);
      backward(1);
      EXPECT_THAT([&] { optimizer.step(); },
                  ThrowsMessage<InvalidArgument>(HasSubstr("under no_sync have not been reduced")));
    }
    backward(2);
    optimizer.step();
    results.put(rank, unsharded_values(fsdp));
  });
  optim::SGD optimizer(alone.named_parameters(), {.lr = 0.1});
  for (int step = 0; step < 3; ++step)
    cross_entropy(alone(batch_of_step(step).x), batch_of_step(step).labels).backward();
  optimizer.step();
  EXPECT_LE(difference(results.by_rank().at(1), values_of(alone)), 1e-12);
}

TEST(FsdpUnits, GradientsMayBeClearedAfterTheForwardAllOrSome) {
  Mlp alone;
  const auto train = [](Mlp& net, const auto& forward, const auto& rows) {
    optim::Adam optimizer(net.named_parameters());
    for (int step = 0; step < 6; ++step) {
      const Batch batch = rows(batch_of_step(step));
      const Tensor loss = cross_entropy(forward(batch.x), batch.labels);
      if (step % 3 == 0) optimizer.zero_grad();
      if (step % 3 == 1) net.hidden.bias.set_grad({});  // the unit's weight keeps its gradient
      loss.backward();
      optimizer.step();
    }
  };
  Results results;
  with_nets(3, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    train(
        net,
        [&](const Tensor& x) { return fsdp(x); },
        [&](const Batch& batch) { return rows_of(batch, rank); });
    results.put(rank, unsharded_values(fsdp));
  });
  train(
      alone, [&](const Tensor& x) { return alone(x); }, [](const Batch& batch) { return batch; });
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, values_of(alone)), 1e-12) << "rank " << rank;
}

TEST(FsdpUnits, MayBeReadAndEvaluatedBetweenForwardAndBackward) {
  Mlp alone;
  const auto train = [](Mlp& net, const auto& forward, const auto& rows, const auto& read) {
    optim::Adam optimizer(net.named_parameters());
    for (int step = 0; step < 3; ++step) {
      const Batch batch = rows(batch_of_step(step));
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(forward(batch.x), batch.labels);
      {
        const autograd::NoGrad off;
        forward(batch.x);
      }
      read();
      loss.backward();
      read();
      optimizer.step();
    }
  };
  for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op}) {
    Mlp one = nn::clone(alone);
    Results results;
    with_nets(3, alone, [&](Mlp& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, {.strategy = strategy});
      train(
          net,
          [&](const Tensor& x) { return fsdp(x); },
          [&](const Batch& batch) { return rows_of(batch, rank); },
          [&] { unsharded_values(fsdp); });
      results.put(rank, unsharded_values(fsdp));
    });
    train(
        one,
        [&](const Tensor& x) { return one(x); },
        [](const Batch& batch) { return batch; },
        [] {});
    for (const auto& [rank, values] : results.by_rank())
      EXPECT_LE(difference(values, values_of(one)), 1e-12) << "rank " << rank;
  }
}

TEST(FsdpUnits, GradientsUnderNoSyncAddToThoseOfEarlierSteps) {
  Mlp alone;
  Results results;
  with_nets(3, alone, [&](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    const auto backward = [&](int step) { add_gradients(fsdp, rank, step); };
    backward(0);
    optimizer.step();
    {
      const auto scope = fsdp.no_sync();
      backward(1);
    }
    backward(2);
    optimizer.step();
    results.put(rank, unsharded_values(fsdp));
  });
  optim::SGD optimizer(alone.named_parameters(), {.lr = 0.1});
  const auto backward = [&](int step) {
    cross_entropy(alone(batch_of_step(step).x), batch_of_step(step).labels).backward();
  };
  backward(0);
  optimizer.step();
  backward(1);
  backward(2);
  optimizer.step();
  EXPECT_LE(difference(results.by_rank().at(1), values_of(alone)), 1e-12);
}

TEST(FsdpUnits, BadOptionsAreRefusedOnAllRanksAndNothingHasChanged) {
  Mlp alone;
  const Values before = values_of(alone);
  using Options = FullyShardedDataParallelOptions;
  with_nets(4, alone, [&](Mlp& net, Rank& rank) {
    const auto refusal = [&](const Options& options, const auto& text) {
      EXPECT_THAT([&] { FullyShardedDataParallel fsdp(net, rank, options); },
                  ThrowsMessage<InvalidArgument>(text));
    };
    const comm::DeviceMesh line(rank.comm(), {{"shard", 4}});
    const comm::DeviceMesh grid(rank.comm(), {{"replicate", 2}, {"shard", 2}});
    const auto hybrid = [](std::optional<comm::DeviceMesh> mesh) {
      return Options{.strategy = ShardingStrategy::hybrid_shard, .mesh = std::move(mesh)};
    };
    refusal(hybrid(std::nullopt), HasSubstr("hybrid_shard needs a mesh"));
    refusal(hybrid(line), AllOf(HasSubstr("1 axes"), HasSubstr("\"shard\"")));
    refusal(hybrid(grid.sub_mesh({"shard"})), HasSubstr("2 ranks of another group"));
    refusal({.sharding = {.units = UnitPolicy::names({"blocks.*"})}},
            HasSubstr("'hidden' (Linear)"));
    EXPECT_EQ(values_of(net), before);
    FullyShardedDataParallel fsdp(net, rank);
    refusal({}, HasSubstr("already wrapped"));
    EXPECT_EQ(unsharded_values(fsdp), before);
  });
}

TEST(FsdpUnits, ComeFromAnotherDeviceOneAtATime) {
  manual_seed(4);
  const NormMlp alone;
  const Device home = testing::device(7);
  Results results;
  std::vector<NormMlp> copies;
  for (int r = 0; r < 2; ++r) {
    copies.push_back(nn::clone(alone));
    copies.back().to(home);
  }
  run_ranks(
      devices(2),
      [&](Rank& rank) {
        NormMlp& net = copies[static_cast<std::size_t>(rank.rank())];
        EXPECT_THAT([&] { FullyShardedDataParallel fsdp(net, rank); },
                    ThrowsMessage<InvalidArgument>(
                        AllOf(HasSubstr("'hidden.weight' is on"), HasSubstr("this rank is on"))));
        LogicalDevice& device = logical_device(rank.device());
        const std::size_t before = device.memory_stats().in_use;
        device.reset_peak();
        FullyShardedDataParallel fsdp(net, rank, {.init_on = home});
        // Its shares of values and gradients, a unit of either, and the buffers of batch norm.
        const std::size_t shares = device.memory_stats().in_use - before;
        const std::size_t largest = 256 * sizeof(double);  // 16 x 12, padded to two shares
        EXPECT_LE(device.memory_stats().peak - before, shares + largest);
        EXPECT_EQ(net.norm.running_mean.device(), rank.device());
        const Batch rows = rows_of(batch_of_step(0), rank);
        optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
        cross_entropy(fsdp(rows.x), rows.labels).backward();
        optimizer.step();
        results.put(rank, unsharded_values(fsdp));
      },
      kShort);
  NormMlp own = nn::clone(alone);
  optim::SGD optimizer(own.named_parameters(), {.lr = 0.1});
  const Batch batch = batch_of_step(0);
  cross_entropy(own(batch.x), batch.labels).backward();
  optimizer.step();
  EXPECT_LE(difference(results.by_rank().at(1), values_of(own)), 1e-12);
}

TEST(FsdpUnits, OfFewerElementsThanRanksWork) {
  Tiny alone;
  Results results;
  with_nets(8, alone, [&](Tiny& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::AdamW optimizer(net.named_parameters());
    sum(fsdp(rows_of(batch_of_step(0), rank).x)).backward();
    optimizer.step();
    EXPECT_EQ(optimizer.state_dict().numbers.at("only.weight.step"), 1);
    results.put(rank, unsharded_values(fsdp));
  });
  EXPECT_EQ(results.by_rank().size(), 8u);
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_EQ(values, results.by_rank().at(0)) << rank;
  EXPECT_GT(difference(results.by_rank().at(0), values_of(alone)), 0);
}

}  // namespace
}  // namespace tandem::parallel::test
