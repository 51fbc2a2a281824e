// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Modules that are changed between the steps of a wrapper that divides them: what one device does,
// or an error that names the parameter.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/sharded_ranks.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The wrappers of DataParallel that divide a module.
std::vector<DataParallelOptions> dividing_options() {
  std::vector<DataParallelOptions> all;
  for (const Mode mode : {Mode::sharded, Mode::sharded_gradients, Mode::fully_sharded})
    all.push_back({.devices = devices(3), .mode = mode});
  all.push_back(all.back());
  all.back().sharding.offload = testing::device(7);
  return all;
}

struct ModuleChange {
  const char* parameter;  // that is named
  std::function<void(Mlp&)> make;
};

/// Without a bias in the hidden layer.
Mlp start_of_changes() {
  manual_seed(6);
  Mlp net;
  net.hidden = nn::Linear(12, 16, {.bias = false, .dtype = DType::f64});
  return net;
}

nn::Linear another_head(Device device) {
  return nn::Linear(16, 5, {.dtype = DType::f64, .device = device});
}

std::vector<ModuleChange> changes_on(Device device) {
  const TensorOptions like{.dtype = DType::f64, .device = device};
  return {
      {"head.weight", [device](Mlp& net) { net.head = another_head(device); }},
      {"head.bias", [like](Mlp& net) { net.head.bias = zeros({5}, like); }},
      {"hidden.bias", [like](Mlp& net) { net.hidden.bias = zeros({16}, like); }},
      {"head.bias", [](Mlp& net) { net.head.bias = {}; }},
  };
}

template <class Forward>
void train_step(optim::Optimizer& optimizer, const Forward& forward, const Batch& batch) {
  optimizer.zero_grad();
  cross_entropy(forward(batch.x), batch.labels).backward();
  optimizer.step();
}

/// So many steps on one device.
Values steps_alone(const Mlp& start, int steps) {
  Mlp net = nn::clone(start);
  optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < steps; ++step)
    train_step(
        optimizer, [&](const Tensor& x) { return net(x); }, batch_of_step(step));
  return values_of(net);
}

TEST(ChangedModule, IsNamedInEachModeAndGoesOnOnceItIsAsItWas) {
  const Mlp start = start_of_changes();
  const Values expected = steps_alone(start, 2);
  for (const DataParallelOptions& options : dividing_options()) {
    for (const ModuleChange& change : changes_on(testing::device(0))) {
      Mlp net = nn::clone(start);
      DataParallel dp(net, options);
      optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
      dp.step(batch_of_step(0), kLoss, &optimizer);
      const Values before = values_of(net);
      const nn::Linear hidden = net.hidden, head = net.head;
      change.make(net);
      for (const auto& call :
           std::vector<std::function<void()>>{[&] { dp.step(batch_of_step(1), kLoss, &optimizer); },
                                              [&] { dp(batch_of_step(1).x); }})
        EXPECT_THAT(thrown_text<InvalidArgument>(call),
                    HasSubstr(std::string("'") + change.parameter + "' was "));
      net.hidden = hidden;
      net.head = head;
      EXPECT_EQ(values_of(net), before);
      dp.step(batch_of_step(1), kLoss, &optimizer);
      EXPECT_LE(difference(values_of(net), expected), 1e-12) << name(options.mode);
    }
  }
}

TEST(ChangedModule, OfAnotherTypeIsNamedInEachMode) {
  const Mlp start = start_of_changes();
  for (const DataParallelOptions& options : dividing_options()) {
    Mlp net = nn::clone(start);
    const Values before = values_of(net);
    {
      DataParallel dp(net, options);
      net.to(DType::f32);
      EXPECT_THAT(thrown_text<InvalidArgument>([&] { dp.step(batch_of_step(0), kLoss); }),
                  HasSubstr("'hidden.weight' was added, resized or moved"));
    }
    EXPECT_LE(difference(values_of(net), before), 1e-7) << name(options.mode);
  }
}

TEST(ChangedModule, OfRanksIsNamedAndGoesOnOnceItIsAsItWas) {
  const Mlp start = start_of_changes();
  const Values expected = steps_alone(start, 2);
  for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op}) {
    with_nets(2, start, [&](Mlp& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, {.strategy = strategy});
      optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
      const auto step = [&](int number) {
        train_step(
            optimizer,
            [&](const Tensor& x) { return fsdp(x); },
            rows_of(batch_of_step(number), rank));
      };
      step(0);
      const Values before = unsharded_values(fsdp);
      for (const ModuleChange& change : changes_on(rank.device())) {
        const nn::Linear hidden = net.hidden, head = net.head;
        change.make(net);
        EXPECT_THAT(thrown_text<InvalidArgument>([&] { step(1); }),
                    AllOf(HasSubstr(std::string("'") + change.parameter + "' was "),
                          HasSubstr("in unsharded, make a clone of it")));
        net.hidden = hidden;
        net.head = head;
        EXPECT_EQ(unsharded_values(fsdp), before);
      }
      EXPECT_THAT(thrown_text<InvalidArgument>([&] { net.to(DType::f32); }),
                  HasSubstr("'hidden' is sharded"));
      step(1);
      EXPECT_LE(difference(unsharded_values(fsdp), expected), 1e-12);
    });
  }
}

TEST(ChangedModule, OfOneRankAloneEndsAllRanks) {
  const auto text = thrown_text<RankError>([&] {
    with_nets(2, start_of_changes(), [](Mlp& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank);
      if (rank.rank() == 1) net.head = another_head(rank.device());
      fsdp(rows_of(batch_of_step(0), rank).x);
      rank.comm().barrier();
    });
  });
  EXPECT_THAT(text, AllOf(HasSubstr("rank 1"), HasSubstr("'head.weight' was added, replaced")));
}

/// Freezes what trained, and lets it train again.
template <class Step>
void freeze_and_unfreeze(Mlp& net, const Step& step) {
  step(0);
  net.hidden.weight.requires_grad_(false);
  step(1);
  net.head.requires_grad_(false);
  net.hidden.weight.requires_grad_();
  step(2);
  net.head.requires_grad_();
  step(3);
}

TEST(ChangedModule, OfRanksMayFreezeWhatTrainedAndLetItTrainAgain) {
  const Mlp start = start_of_changes();
  Mlp alone = nn::clone(start);
  optim::SGD one(alone.named_parameters(), {.lr = 0.1});
  freeze_and_unfreeze(alone, [&](int step) {
    train_step(
        one, [&](const Tensor& x) { return alone(x); }, batch_of_step(step));
  });
  for (const std::size_t prefetch : {0, 1}) {
    with_nets(2, start, [&](Mlp& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, {.sharding = {.prefetch = prefetch}});
      optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
      freeze_and_unfreeze(net, [&](int step) {
        train_step(
            optimizer,
            [&](const Tensor& x) { return fsdp(x); },
            rows_of(batch_of_step(step), rank));
      });
      EXPECT_LE(difference(unsharded_values(fsdp), values_of(alone)), 1e-12);
    });
  }
}

TEST(ChangedModule, OfRanksNamesWhatWasFrozenAndIsToTrain) {
  Mlp start = start_of_changes();
  start.hidden.requires_grad_(false);
  with_nets(2, start, [](Mlp& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const Batch rows = rows_of(batch_of_step(0), rank);
    cross_entropy(fsdp(rows.x), rows.labels).backward();
    net.hidden.requires_grad_();
    EXPECT_THAT(thrown_text<InvalidArgument>([&] { fsdp(rows.x); }),
                AllOf(HasSubstr("'hidden.weight' was frozen when it was wrapped"),
                      HasSubstr("in unsharded, make a clone of it")));
    // What the error says.
    Mlp changed;
    unsharded(fsdp, [&] { changed = nn::clone(net); });
    FullyShardedDataParallel again(changed, rank);
    cross_entropy(again(rows.x), rows.labels).backward();
    EXPECT_TRUE(changed.hidden.weight.grad().defined());
  });
}

TEST(ChangedModule, TrainsWhatWasFrozenInEachModeWithItsSharesAnywhere) {
  Mlp start = start_of_changes();
  start.hidden.requires_grad_(false);
  const auto train = [](Mlp& net, const auto& forward) {
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    train_step(optimizer, forward, batch_of_step(0));
    net.hidden.requires_grad_();
    net.head.bias.requires_grad_(false);
    train_step(optimizer, forward, batch_of_step(1));
  };
  Mlp alone = nn::clone(start);
  train(alone, [&](const Tensor& x) { return alone(x); });
  EXPECT_GT(difference(values_of(alone), values_of(start)), 1e-4);
  for (const DataParallelOptions& options : dividing_options()) {
    Mlp net = nn::clone(start);
    DataParallel dp(net, options);
    train(net, [&](const Tensor& x) { return dp(x); });
    EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-12) << name(options.mode);
  }
}

/// Three levels of modules with parameters of their own.
struct Inner : nn::Module {
  nn::Linear linear{6, 6, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return tanh(linear(x)); }
  TANDEM_MODULE(Inner, linear)
};

struct Middle : nn::Module {
  nn::Parameter scale = full({6}, 0.5, {.dtype = DType::f64});
  Inner inner;
  Tensor forward(const Tensor& x) { return inner(x * scale); }
  TANDEM_MODULE(Middle, scale, inner)
};

struct Outer : nn::Module {
  nn::Linear entry{12, 6, {.dtype = DType::f64}};
  Middle middle;
  nn::Parameter shift = full({6}, 0.1, {.dtype = DType::f64});
  nn::Linear head{6, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return head(middle(entry(x.flatten(1))) + shift); }
  TANDEM_MODULE(Outer, entry, middle, shift, head)
};

TEST(NestedUnits, AndParametersWithoutAUnitTrainAsOneDevice) {
  manual_seed(6);
  const Outer start;
  const auto all = [](const std::string&, nn::Module&) { return true; };
  Outer alone = nn::clone(start);
  const auto train = [](Outer& net, const auto& forward, const auto& rows) {
    optim::Adam optimizer(net.named_parameters(), {.lr = 0.01});
    for (int step = 0; step < 3; ++step)
      train_step(optimizer, forward, rows(step));
  };
  train(
      alone, [&](const Tensor& x) { return alone(x); }, batch_of_step);
  for (const UnitPolicy& units : {UnitPolicy::where(all),
                                  UnitPolicy::names({"middle", "mid*", "middle.inner"}),
                                  UnitPolicy::names({"middle.inner.linear"}),
                                  UnitPolicy::by_size(1)}) {
    for (const int n : {1, 2, 8}) {
      Outer net = nn::clone(start);
      DataParallel dp(
          net, {.devices = devices(n), .mode = Mode::fully_sharded, .sharding = {.units = units}});
      train(
          net, [&](const Tensor& x) { return dp(x); }, batch_of_step);
      EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-12) << n << " devices";
      with_nets(n, start, [&](Outer& own, Rank& rank) {
        FullyShardedDataParallel fsdp(own, rank, {.sharding = {.units = units}});
        train(
            own,
            [&](const Tensor& x) { return fsdp(x); },
            [&](int step) { return rows_of(batch_of_step(step), rank); });
        EXPECT_LE(difference(unsharded_values(fsdp), values_of(alone)), 1e-12) << n << " ranks";
      });
    }
  }
}

}  // namespace
}  // namespace tandem::parallel::test
