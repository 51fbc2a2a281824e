// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Each allocation of a rank's step fails, in forward, backward or the optimizer's step: that rank
// gets OutOfMemory and the other one hears of it, nothing has changed, and the next step is right.
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/optim/adam.hpp"

#include "parallel/failing_allocations.hpp"
#include "parallel/fsdp_nets.hpp"
#include "parallel/sharded_ranks.hpp"
#include "sanitized.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;

constexpr int kFaultedRanks = 2;
constexpr int kMostFaults = 1000;

/// What a rank trains.
class FaultedRank {
 public:
  FaultedRank(Chain& net, Rank& rank, const FullyShardedDataParallelOptions& options)
      : net_(net), rank_(rank), fsdp_(net, rank, options), optimizer_(net.named_parameters()) {}

  void zero_grad() { optimizer_.zero_grad(); }
  void backward(int number) {
    const Batch rows = rows_of(batch_of_step(number), rank_);
    cross_entropy(fsdp_(rows.x), rows.labels).backward();
  }
  void step(int number) {
    backward(number);
    optimizer_.step();
  }
  /// A step whose failure ends this rank, as run_ranks does it.
  ///
  /// @return  what went wrong; "": nothing.
  std::string failure_of_step(int number) {
    try {
      step(number);
    } catch (const std::exception& e) {
      rank_.comm().abort(e.what());
      return e.what();
    }
    return "";
  }
  /// Values, the optimizer's state, and which gradients there are. Collective.
  Values state() {
    Values all;
    for (const auto& [name, x] : net_.named_parameters())
      all["gradient of " + name] = {x.grad().defined() ? 1.0 : 0.0};
    all.merge(unsharded_values(fsdp_));
    const optim::OptimizerState saved = optimizer_.state_dict();
    for (const auto& [name, x] : saved.tensors)
      all["state of " + name] = x.to_doubles();
    for (const auto& [name, number] : saved.numbers)
      all["number of " + name] = {number};
    return all;
  }

 private:
  Chain& net_;
  Rank& rank_;
  FullyShardedDataParallel<Chain> fsdp_;
  optim::Adam optimizer_;
};

struct FaultedProgram {
  FullyShardedDataParallelOptions options = {};
  std::vector<Device> homes = {};  // of the ranks' shares; none: they are not offloaded
  bool adds = false;               // to gradients that are there
  bool is_first = false;           // the optimizer has no state yet

  FullyShardedDataParallelOptions options_of(const Rank& rank) const {
    FullyShardedDataParallelOptions own = options;
    if (!homes.empty()) own.sharding.offload = homes.at(static_cast<std::size_t>(rank.rank()));
    return own;
  }
  /// What precedes the step that fails.
  void begin(FaultedRank& rank) const {
    if (is_first) return;
    rank.step(0);
    rank.zero_grad();
    if (adds) rank.backward(1);
  }
};

std::vector<Device> two_homes() {
  return {testing::device(6), testing::device(7)};
}

Chain start_of_faults() {
  manual_seed(5);
  return Chain();
}

/// What a step gives that nothing has preceded.
Values without_faults(const FaultedProgram& program) {
  Results results;
  with_nets(kFaultedRanks, start_of_faults(), [&](Chain& net, Rank& rank) {
    FaultedRank own(net, rank, program.options_of(rank));
    program.begin(own);
    own.step(2);
    results.put(rank, own.state());
  });
  return results.by_rank().at(0);
}

/// Lets each allocation of a step on a device fail. @return  how many did
int let_each_fail(const FaultedProgram& program, int faulty, Device device) {
  const Values expected = without_faults(program);
  FailingAllocations failing(device, Lasts::once);
  std::barrier<> together(kFaultedRanks);
  int failures = 0;
  with_nets(kFaultedRanks, start_of_faults(), [&](Chain& net, Rank& rank) {
    FaultedRank own(net, rank, program.options_of(rank));
    program.begin(own);
    const bool fails = rank.rank() == faulty;
    const Values before = own.state();
    for (int k = 1; k < kMostFaults; k += testing::kFaultStride) {
      together.arrive_and_wait();
      if (fails) failing.begin_at(k);
      const std::string text = own.failure_of_step(2);
      if (fails) failing.end();
      if (text.empty()) break;
      if (fails) ++failures;
      EXPECT_THAT(text, HasSubstr("of memory")) << "allocation " << k;
      together.arrive_and_wait();
      if (fails) rank.comm().reset();
      together.arrive_and_wait();
      if (program.is_first) own.zero_grad();  // those of the backward, which was well
      EXPECT_EQ(own.state(), before)
          << "allocation " << k << ", rank " << rank.rank() << ": " << text;
    }
    EXPECT_EQ(own.state(), expected) << "rank " << rank.rank();
  });
  return failures;
}

void let_each_fail(const FaultedProgram& program) {
  for (int faulty = 0; faulty < kFaultedRanks; ++faulty) {
    EXPECT_GT(let_each_fail(program, faulty, testing::device(faulty)), 20 / testing::kFaultStride);
    if (!program.homes.empty())
      let_each_fail(program, faulty, program.homes.at(static_cast<std::size_t>(faulty)));
  }
}

TEST(FsdpFaults, HaveNoEffectButErrors) {
  for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op})
    let_each_fail({.options = {.strategy = strategy}});
}

TEST(FsdpFaults, OfGradientsThatAreAddedLeaveTheEarlierOnes) {
  let_each_fail({.adds = true});
  let_each_fail({.homes = two_homes(), .adds = true});
}

TEST(FsdpFaults, OfTheOptimizersStateKeepTheOtherRankFromItsStep) {
  let_each_fail({.is_first = true});
  let_each_fail({.homes = two_homes(), .is_first = true});
}

TEST(FsdpFaults, WithOffloadHaveNoEffectButErrors) {
  for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op})
    let_each_fail({.options = {.strategy = strategy}, .homes = two_homes()});
}

TEST(FsdpFaults, WhileUnitsAreGatheredAheadHaveNoEffectButErrors) {
  for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op})
    let_each_fail({.options = {.sharding = {.prefetch = 1}, .strategy = strategy}});
}

/// Lets this rank's backward fail late, after the third layer.
int fail_after_third(Chain& net) {
  return net.second.register_forward_hook([](const nn::ForwardCall& call) {
    autograd::register_hook(call.tensors[0], [](const Tensor& dy) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (dy.defined()) throw InvalidArgument("on one rank");
      return dy;
    });
  });
}

TEST(FsdpFaults, OfOneRanksBackwardLeaveNoOrderOfUnitsThatDiffers) {
  const FaultedProgram program{.options = {.sharding = {.prefetch = 1}}};
  const Values expected = without_faults(program);
  std::barrier<> together(kFaultedRanks);
  with_nets(kFaultedRanks, start_of_faults(), [&](Chain& net, Rank& rank) {
    FaultedRank own(net, rank, program.options_of(rank));
    program.begin(own);
    const int id = rank.rank() == 1 ? fail_after_third(net) : -1;
    // Rank 0 has used the second layer by then, which rank 1 has gathered ahead.
    EXPECT_THAT(own.failure_of_step(2), HasSubstr("on one rank"));
    if (id >= 0) net.second.remove_hook(id);
    together.arrive_and_wait();
    if (rank.rank() == 0) rank.comm().reset();
    together.arrive_and_wait();
    own.step(2);
    EXPECT_EQ(own.state(), expected) << "rank " << rank.rank();
  });
}

}  // namespace
}  // namespace tandem::parallel::test
