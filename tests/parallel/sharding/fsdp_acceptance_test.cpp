// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What PyTorch's test cases for FSDP ask of the values, by docs/acceptance.md. What is sent and
// held is in fsdp_traffic_test.cpp.
#include <chrono>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/sgd.hpp"

#include "parallel/fsdp_nets.hpp"
#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using enum ShardingStrategy;
using FsdpOptions = FullyShardedDataParallelOptions;

/// Where ranks are late, by how much each.
struct Delays {
  std::chrono::milliseconds in_forward{0}, in_backward{0}, after_forward{0}, before_step{0};
};

/// Passes its input on, and its gradient late.
Tensor late_in_backward(const Tensor& x, std::chrono::milliseconds delay) {
  return autograd::record("late", x.detach(), {x}, [delay](const Tensor& dy) {
    std::this_thread::sleep_for(delay);
    return autograd::Gradients{dy};
  });
}

/// Each layer may be late.
struct LateChain : Chain {
  Delays delays;
  Tensor forward(const Tensor& x) {
    Tensor y = x.flatten(1);
    for (nn::Linear* layer : {&first, &second, &third, &head}) {
      std::this_thread::sleep_for(delays.in_forward);
      y = late_in_backward(tanh((*layer)(y)), delays.in_backward);
    }
    return y;
  }
  TANDEM_MODULE(LateChain, first, second, third, head)
};

/// So many steps of Adam.
template <class Net, class Forward, class Rows>
void train(Net& net, int steps, const Forward& forward, const Rows& rows) {
  optim::Adam optimizer(net.named_parameters());
  for (int step = 0; step < steps; ++step) {
    const Batch batch = rows(step);
    optimizer.zero_grad();
    cross_entropy(forward(batch.x), batch.labels).backward();
    optimizer.step();
  }
}

/// The values that `program(net, forward, rows)` gives on ranks.
template <class Net, class Program>
Values on_each_rank(int n, const Net& start, const FsdpOptions& options, const Program& program) {
  Results results;
  with_nets(n, start, [&](Net& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, options);
    program(
        net,
        [&](const Tensor& x) { return fsdp(x); },
        [&](int step) { return rows_of(batch_of_step(step), rank); });
    results.put(rank, unsharded_values(fsdp));
  });
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_EQ(values, results.by_rank().at(0)) << "rank " << rank << ": other bits than rank 0";
  return results.by_rank().at(0);
}

/// The same on one device with the whole batch.
template <class Net, class Program>
Values on_one_device(const Net& start, const Program& program) {
  Net net = nn::clone(start);
  program(
      net, [&](const Tensor& x) { return net(x); }, batch_of_step);
  return values_of(net);
}

constexpr auto kThreeSteps = [](auto& net, const auto& forward, const auto& rows) {
  train(net, 3, forward, rows);
};

TEST(FsdpAcceptance, EmptySharesAndTwoAxesTrainAsDistributedDataParallel) {
  manual_seed(3);
  const Narrow start;
  Results ddp, full, hybrid;
  const auto run = [&](Results& results, auto wrap) {
    with_nets(8, start, [&](Narrow& net, Rank& rank) {
      auto wrapper = wrap(net, rank);
      train(
          net,
          10,
          [&](const Tensor& x) { return wrapper(x); },
          [&](int step) { return rows_of(batch_of_step(step), rank); });
      if constexpr (requires { wrapper.sharded(); })
        results.put(rank, unsharded_values(wrapper));
      else
        results.put(rank, values_of(net));
    });
  };
  run(ddp, [](Narrow& net, Rank& rank) { return DistributedDataParallel(net, rank); });
  run(full, [](Narrow& net, Rank& rank) { return FullyShardedDataParallel(net, rank); });
  run(hybrid, [](Narrow& net, Rank& rank) {
    const comm::DeviceMesh mesh(rank.comm(), {{"replicate", 2}, {"shard", 4}});
    return FullyShardedDataParallel(net, rank, {.strategy = hybrid_shard, .mesh = mesh});
  });
  for (int r = 0; r < 8; ++r) {
    EXPECT_LE(difference(full.by_rank().at(r), ddp.by_rank().at(r)), 1e-12) << "rank " << r;
    EXPECT_LE(difference(hybrid.by_rank().at(r), ddp.by_rank().at(r)), 1e-12) << "rank " << r;
  }
}

/// The values and losses of three ranks that are late.
Values late(const LateChain& start, const FsdpOptions& options, const Delays& each, bool reversed) {
  Results results;
  with_nets(3, start, [&](LateChain& net, Rank& rank) {
    const int times = reversed ? 2 - rank.rank() : rank.rank();
    net.delays = {each.in_forward * times, each.in_backward * times};
    FullyShardedDataParallel fsdp(net, rank, options);
    optim::Adam optimizer(net.named_parameters());
    std::vector<double> losses;
    for (int step = 0; step < 3; ++step) {
      const Batch batch = rows_of(batch_of_step(step), rank);
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(fsdp(batch.x), batch.labels);
      std::this_thread::sleep_for(each.after_forward * times);
      loss.backward();
      std::this_thread::sleep_for(each.before_step * times);
      optimizer.step();
      losses.push_back(loss.item());
    }
    Values values = unsharded_values(fsdp);
    values["losses"] = losses;
    results.put(rank, values);
  });
  return results.by_rank().at(1);
}

TEST(FsdpAcceptance, NoBitDependsOnLateRanks) {
  using std::chrono_literals::operator""ms;
  manual_seed(3);
  const LateChain start;
  const Device home{testing::device_type(), 7};
  for (const FsdpOptions& options : {FsdpOptions{},
                                     FsdpOptions{.strategy = shard_grad_op},
                                     FsdpOptions{.sharding = {.prefetch = 2, .offload = home}}}) {
    const Values expected = late(start, options, {}, false);
    for (const Delays& delays : {Delays{.in_forward = 1ms},
                                 Delays{.in_backward = 1ms},
                                 Delays{.after_forward = 3ms},
                                 Delays{.before_step = 3ms}})
      for (const bool reversed : {false, true})
        EXPECT_EQ(late(start, options, delays, reversed), expected);
  }
}

TEST(FsdpAcceptance, NoBitDependsOnPrefetchStrategyOrOffload) {
  manual_seed(3);
  const Chain start;
  const Values expected = on_each_rank(3, start, {.sharding = {.prefetch = 0}}, kThreeSteps);
  for (const std::size_t prefetch : {1, 2, 9})
    EXPECT_EQ(on_each_rank(3, start, {.sharding = {.prefetch = prefetch}}, kThreeSteps), expected)
        << prefetch;
  EXPECT_EQ(on_each_rank(3, start, {.strategy = shard_grad_op}, kThreeSteps), expected);
  EXPECT_EQ(
      on_each_rank(
          3, start, {.sharding = {.offload = Device{testing::device_type(), 7}}}, kThreeSteps),
      expected);
  EXPECT_LE(difference(expected, on_one_device(start, kThreeSteps)), 1e-12);
}

TEST(FsdpAcceptance, RecomputedAndTiedUnitsOfAnyGroupingTrainAsOneDevice) {
  for (const bool ties : {false, true}) {
    for (const bool recomputes : {false, true}) {
      manual_seed(3);
      const Recomputed start(ties, recomputes);
      const Values expected = on_one_device(start, kThreeSteps);
      for (const UnitPolicy& units : {UnitPolicy(),
                                      UnitPolicy::names({"middle"}),
                                      UnitPolicy::names({"entry", "last"}),
                                      UnitPolicy::by_size(1)}) {
        for (const ShardingStrategy strategy : {full_shard, shard_grad_op}) {
          const FsdpOptions options{.sharding = {.units = units}, .strategy = strategy};
          EXPECT_LE(difference(on_each_rank(2, start, options, kThreeSteps), expected), 1e-12)
              << ties << recomputes << static_cast<int>(strategy);
        }
      }
    }
  }
}

TEST(FsdpAcceptance, AnInnerUnitAloneIsRefusedAndRunsInUnsharded) {
  manual_seed(3);
  const Chain start;
  Chain alone = nn::clone(start);
  const Tensor x = randn({2, 24}, {.dtype = DType::f64});
  train(
      alone, 1, [&](const Tensor& in) { return alone(in); }, batch_of_step);
  const autograd::NoGrad off;
  const std::vector<double> expected = alone.second(x).to_doubles();
  with_nets(2, start, [&](Chain& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const auto rows = [&](int step) { return rows_of(batch_of_step(step), rank); };
    {
      const autograd::EnableGrad on;
      train(
          net, 1, [&](const Tensor& in) { return fsdp(in); }, rows);
    }
    const Tensor own = x.to(rank.device());
    EXPECT_THAT([&] { net.second(own); },
                ThrowsMessage<InvalidArgument>(
                    AllOf(HasSubstr("'second' is sharded"), HasSubstr("unsharded(net"))));
    std::vector<double> found;
    unsharded(fsdp, [&] { found = net.second(own).to_doubles(); });
    EXPECT_THAT(found, ::testing::Pointwise(::testing::DoubleNear(1e-12), expected));
  });
}

TEST(FsdpAcceptance, AForwardThatThrowsWhileUnitsAreGatheredAheadIsWithoutEffect) {
  manual_seed(3);
  const Chain start;
  for (const std::size_t prefetch : {0, 1, 2}) {
    const Values found = on_each_rank(2,
                                      start,
                                      {.sharding = {.prefetch = prefetch}},
                                      [](Chain& net, const auto& forward, const auto& rows) {
                                        optim::Adam optimizer(net.named_parameters());
                                        for (int step = 0; step < 3; ++step) {
                                          const Batch batch = rows(step);
                                          if (step > 0) {  // when the order of the units is known
                                            net.fails = true;
                                            EXPECT_THROW(forward(batch.x), InvalidArgument);
                                            net.fails = false;
                                          }
                                          optimizer.zero_grad();
                                          cross_entropy(forward(batch.x), batch.labels).backward();
                                          optimizer.step();
                                        }
                                      });
    EXPECT_LE(difference(found, on_one_device(start, kThreeSteps)), 1e-12) << prefetch;
  }
}

TEST(FsdpAcceptance, SeveralForwardsOfPartsOfAUnitMayPrecedeOneBackward) {
  manual_seed(3);
  const HalvesAndHead start;
  const auto program = [](HalvesAndHead& net, const auto& forward, const auto& rows) {
    optim::Adam optimizer(net.named_parameters());
    const auto loss = [&](Halves::Uses uses, int step) {
      net.block.uses = uses;
      const Batch batch = rows(step);
      return cross_entropy(forward(batch.x), batch.labels);
    };
    const auto step = [&](const Tensor& total) {
      optimizer.zero_grad();
      total.backward();
      optimizer.step();
    };
    using enum Halves::Uses;
    const Tensor l = loss(left, 0), r = loss(right, 1);
    step(l + r);
    step(loss(left, 2));
    const Tensor a = loss(left, 3), b = loss(left, 4), c = loss(both, 5);
    step(a + b + c);
  };
  const Values expected = on_one_device(start, program);
  for (const ShardingStrategy strategy : {full_shard, shard_grad_op})
    EXPECT_LE(difference(on_each_rank(3, start, {.strategy = strategy}, program), expected), 1e-12);
}

TEST(FsdpAcceptance, NormsAreTheSameBitsOnAllRanks) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  manual_seed(3);
  const Chain start;
  const auto norms = [](Chain& net, const auto& forward, const Batch& batch) {
    cross_entropy(forward(batch.x), batch.labels).backward();
    std::vector<double> found;
    for (const double norm : {1.0, 2.0, kInfinity})
      found.push_back(optim::clip_grad_norm_(net.parameters(), 1e9, {.norm_type = norm}).item());
    return found;
  };
  Results results;
  with_nets(4, start, [&](Chain& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const auto forward = [&](const Tensor& x) { return fsdp(x); };
    results.put(rank, {{"norms", norms(net, forward, rows_of(batch_of_step(0), rank))}});
  });
  Chain alone = nn::clone(start);
  const Values expected{{"norms",
                         norms(
                             alone, [&](const Tensor& x) { return alone(x); }, batch_of_step(0))}};
  for (const auto& [rank, found] : results.by_rank()) {
    EXPECT_EQ(found, results.by_rank().at(0)) << "rank " << rank;
    EXPECT_LE(difference(found, expected), 1e-12) << "rank " << rank;
  }
}

TEST(FsdpAcceptance, StateOfFourRanksGoesOnOnTwo) {
  manual_seed(3);
  const Chain start;
  const Values expected = on_one_device(
      start,
      [](Chain& net, const auto& forward, const auto& rows) { train(net, 5, forward, rows); });
  const auto steps = [](auto& fsdp, optim::Optimizer& optimizer, Rank& rank, int from, int to) {
    for (int step = from; step < to; ++step) {
      const Batch batch = rows_of(batch_of_step(step), rank);
      optimizer.zero_grad();
      cross_entropy(fsdp(batch.x), batch.labels).backward();
      optimizer.step();
    }
  };
  const Device host{testing::device_type(), 0};
  std::map<std::string, Tensor> module_state;
  optim::OptimizerState state;
  with_nets(4, start, [&](Chain& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam optimizer(net.named_parameters());
    steps(fsdp, optimizer, rank, 0, 3);
    const optim::OptimizerState whole = optimizer.state_dict();
    unsharded(fsdp, [&] {
      if (rank.rank() != 0) return;
      for (const auto& [name, x] : net.named_parameters())
        module_state[name] = x.detach().to(host).clone();
    });
    if (rank.rank() != 0) return;
    state.numbers = whole.numbers;
    for (const auto& [name, x] : whole.tensors)
      state.tensors[name] = x.to(host).clone();
  });
  Results results;
  with_nets(2, Chain(), [&](Chain& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam optimizer(net.named_parameters());
    unsharded(fsdp, [&] {
      const autograd::NoGrad off;
      for (const auto& [name, x] : net.named_parameters())
        x.detach().copy_(module_state.at(name).to(rank.device()));
    });
    optimizer.load_state_dict(state);
    steps(fsdp, optimizer, rank, 3, 5);
    results.put(rank, unsharded_values(fsdp));
  });
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, expected), 1e-12) << "rank " << rank;
}

TEST(FsdpAcceptance, AnOutputThatTheLossLeavesOutTrainsNothing) {
  manual_seed(3);
  const BesideAHead start;
  const auto program = [](BesideAHead& net, const auto& forward, const auto& rows) {
    train(
        net, 3, [&](const Tensor& x) { return forward(x).used; }, rows);
    EXPECT_FALSE(net.other.weight.grad().defined());
  };
  const Values found = on_each_rank(3, start, {}, program);
  EXPECT_LE(difference(found, on_one_device(start, program)), 1e-12);
}

TEST(FsdpAcceptance, ModulesWithWrappersOfTheirOwnTrainTogether) {
  manual_seed(3);
  const Chain start;
  const auto train_parts = [](Chain& net, const auto& forward, const auto& rows) {
    optim::Adam first(net.first.named_parameters()), middle(net.second.named_parameters());
    optim::Adam last(net.third.named_parameters());
    for (int step = 0; step < 3; ++step) {
      for (optim::Adam* optimizer : {&first, &middle, &last})
        optimizer->zero_grad();
      const Batch batch = rows(step);
      cross_entropy(forward(batch.x), batch.labels).backward();
      for (optim::Adam* optimizer : {&first, &middle, &last})
        optimizer->step();
    }
  };
  Results results;
  with_nets(3, start, [&](Chain& net, Rank& rank) {
    DistributedDataParallel a(net.first, rank), c(net.third, rank);
    FullyShardedDataParallel b(net.second, rank);
    train_parts(
        net,
        [&](const Tensor& x) { return c(tanh(b(tanh(a(x.flatten(1)))))); },
        [&](int step) { return rows_of(batch_of_step(step), rank); });
    Values values = unsharded_values(b);
    for (auto& [name, x] : values_of(net.first))
      values["first." + name] = x;
    for (auto& [name, x] : values_of(net.third))
      values["third." + name] = x;
    results.put(rank, values);
  });
  Chain alone = nn::clone(start);
  train_parts(
      alone,
      [&](const Tensor& x) {
        return alone.third(tanh(alone.second(tanh(alone.first(x.flatten(1))))));
      },
      batch_of_step);
  Values expected = values_of(alone.second);
  for (auto& [name, x] : values_of(alone.first))
    expected["first." + name] = x;
  for (auto& [name, x] : values_of(alone.third))
    expected["third." + name] = x;
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, expected), 1e-12) << "rank " << rank;
}

/// What ranks are told of which one leaves out a unit in its second iteration.
std::string texts_of_another_order(const Chain& start, std::size_t prefetch) {
  std::mutex mutex;
  std::string texts;
  const auto run = [&] {
    with_nets(2, start, [&](Chain& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank, {.sharding = {.prefetch = prefetch}});
      const Batch batch = rows_of(batch_of_step(0), rank);
      try {
        for (int step = 0; step < 2; ++step) {
          net.leaves_out_third = step == 1 && rank.rank() == 1;
          cross_entropy(fsdp(batch.x), batch.labels).backward();
        }
      } catch (const Desync& e) {
        const std::scoped_lock lock(mutex);
        texts += e.what();
        throw;
      }
    });
  };
  EXPECT_THROW(run(), RankError);
  return texts;
}

TEST(FsdpAcceptance, AnotherOrderInALaterIterationNamesBothUnits) {
  const Chain start;
  EXPECT_THAT(texts_of_another_order(start, 0),
              AllOf(HasSubstr("values of unit 'third'"), HasSubstr("values of unit 'head'")));
  // Rank 0 gathers the head ahead as it uses the third layer, and rank 1 as it uses the head.
  const auto early = HasSubstr("values of unit 'head' before 'third'");
  EXPECT_THAT(texts_of_another_order(start, 1),
              AllOf(HasSubstr("rank 0 (" + testing::device_name(0) + ") has values of unit 'head'"),
                    early));
  // Rank 0 has gathered all units by then, and is in backward.
  EXPECT_THAT(texts_of_another_order(start, 2), early);
}

TEST(FsdpAcceptance, AverageOfWorldSizeIsTheMeanOfTheRanksLosses) {
  manual_seed(3);
  const Chain start;
  const auto one_step = [](Chain& net, const auto& loss) {
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.3});
    loss().backward();
    optimizer.step();
  };
  Results results;
  with_nets(3, start, [&](Chain& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank, {.average = Average::world_size});
    const Batch batch = rows_of(batch_of_step(0), rank);
    one_step(net, [&] { return cross_entropy(fsdp(batch.x), batch.labels); });
    results.put(rank, unsharded_values(fsdp));
  });
  Chain alone = nn::clone(start);
  one_step(alone, [&] {
    const Batch batch = batch_of_step(0);
    Tensor sum;
    for (const auto& [begin, end] : {std::pair{0, 4}, {4, 8}, {8, 13}}) {
      const Tensor y = alone(batch.x.narrow(0, begin, end - begin));
      const Tensor loss = cross_entropy(y, batch.labels.narrow(0, begin, end - begin)) / 3.0;
      sum = sum.defined() ? sum + loss : loss;
    }
    return sum;
  });
  for (const auto& [rank, values] : results.by_rank())
    EXPECT_LE(difference(values, values_of(alone)), 1e-12) << "rank " << rank;
}

}  // namespace
}  // namespace tandem::parallel::test
