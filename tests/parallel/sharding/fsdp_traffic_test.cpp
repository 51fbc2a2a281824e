// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What ranks of FullyShardedDataParallel gather, send and hold, and when: PyTorch's cases of
// communication and memory, by docs/acceptance.md.
#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/fsdp_nets.hpp"
#include "parallel/sharded_ranks.hpp"

namespace tandem::parallel::test {
namespace {

using enum ShardingStrategy;
using FsdpOptions = FullyShardedDataParallelOptions;
using Names = std::vector<std::string>;

/// Bytes of a unit as a block whose parameters are of one kind, padded for so many ranks.
std::size_t padded_nbytes(const std::vector<Tensor>& parameters, int ranks) {
  const auto size = itemsize(parameters.front().dtype());
  const auto aligned = static_cast<std::int64_t>(256 / size);  // Allocator::kAlignment bytes
  std::int64_t numel = 0;
  for (const Tensor& x : parameters)
    numel += (x.numel() + aligned - 1) / aligned * aligned;
  const std::int64_t multiple = std::int64_t{64} * ranks;
  return static_cast<std::size_t>((numel + multiple - 1) / multiple * multiple) * size;
}

/// By unit.
std::map<std::string, std::size_t> unit_nbytes(nn::Module& net, int ranks) {
  std::map<std::string, std::size_t> units;
  for (const nn::NamedModule& part : net.children())
    units[part.name] = padded_nbytes(part.module->parameters(), ranks);
  return units;
}

std::size_t sum_of(const std::map<std::string, std::size_t>& units) {
  std::size_t sum = 0;
  for (const auto& [name, nbytes] : units)
    sum += nbytes;
  return sum;
}

/// What device 0 allocates, and what comes to it from others.
class SeenOnDevice0 final : public Observer {
 public:
  void on_memory(const MemoryEvent& event) noexcept override {
    if (event.kind != MemoryEvent::Kind::allocate || event.device != testing::device(0)) return;
    const std::scoped_lock lock(mutex_);
    if (event.category == Category::parameter) values_.push_back(event.nbytes);
    if (event.category == Category::gradient) gradients_.push_back(event.nbytes);
  }
  void on_copy(const CopyEvent& event) noexcept override {
    if (event.destination != testing::device(0) || event.source == event.destination) return;
    const std::scoped_lock lock(mutex_);
    came_[static_cast<std::size_t>(event.category)] += event.nbytes;
  }
  /// Since the last call, the units that got memory for values, and for gradients.
  std::pair<Names, Names> take(const std::map<std::string, std::size_t>& units) {
    const std::scoped_lock lock(mutex_);
    const auto names = [&](std::vector<std::size_t>& sizes) {
      Names found;
      for (const std::size_t nbytes : std::exchange(sizes, {})) {
        const auto unit = std::ranges::find(units, nbytes, [](const auto& u) { return u.second; });
        found.push_back(unit == units.end() ? std::to_string(nbytes) + " bytes" : unit->first);
      }
      return found;
    };
    Names values = names(values_);
    return {values, names(gradients_)};
  }
  std::size_t came(Category category) {
    const std::scoped_lock lock(mutex_);
    return came_[static_cast<std::size_t>(category)];
  }

 private:
  std::mutex mutex_;
  std::vector<std::size_t> values_, gradients_;
  std::array<std::size_t, kCategories> came_{};
};

/// What came to device 0 while `f` ran on all ranks.
template <class F>
std::pair<std::size_t, std::size_t> traffic_of(Rank& rank, SeenOnDevice0& seen, const F& f) {
  const auto now = [&] {
    rank.comm().barrier();
    const std::pair came{seen.came(Category::parameter), seen.came(Category::gradient)};
    rank.comm().barrier();
    return came;
  };
  const auto before = now();
  f();
  const auto after = now();
  return {after.first - before.first, after.second - before.second};
}

template <class Net>
void forward_backward(FullyShardedDataParallel<Net>& fsdp, const Rank& rank, int step) {
  const Batch batch = rows_of(batch_of_step(step), rank);
  cross_entropy(fsdp(batch.x), batch.labels).backward();
}

FsdpOptions options_for(ShardingStrategy strategy, Rank& rank) {
  FsdpOptions options{.strategy = strategy};
  if (strategy == hybrid_shard)
    options.mesh.emplace(rank.comm(),
                         std::vector<comm::MeshAxis>{{"replicate", rank.size() / 2}, {"shard", 2}});
  return options;
}

TEST(FsdpTraffic, EachStrategyGathersAndReducesSoOftenAndInThisOrder) {
  const Chain start;
  const Names forward{"first", "second", "third", "head"};
  const Names both{"first", "second", "third", "head", "third", "second"};
  const Names reduced{"head", "third", "second", "first"};
  struct Case {
    ShardingStrategy strategy;
    int ranks;
    Names gathered, reduced;
  };
  // Backward finds the head there, and needs no values of the first layer: the batch has no
  // gradient.
  for (const Case& c : {Case{full_shard, 2, both, reduced},
                        Case{hybrid_shard, 4, both, reduced},
                        Case{shard_grad_op, 2, forward, reduced},
                        Case{no_shard, 2, {}, {}}}) {
    SeenOnDevice0 seen;
    const Subscription subscription(seen);
    with_nets(c.ranks, start, [&](Chain& net, Rank& rank) {
      const auto units = unit_nbytes(net, 2);
      FullyShardedDataParallel fsdp(net, rank, options_for(c.strategy, rank));
      optim::Adam adam(net.named_parameters());
      const auto step = [&](int i) {
        forward_backward(fsdp, rank, i);
        adam.step();
        adam.zero_grad();
      };
      step(0);
      step(1);
      if (rank.rank() == 0) seen.take(units);
      step(2);
      if (rank.rank() != 0) return;
      const auto [gathered, made] = seen.take(units);
      EXPECT_EQ(gathered, c.gathered) << "strategy " << static_cast<int>(c.strategy);
      EXPECT_EQ(made, c.reduced) << "strategy " << static_cast<int>(c.strategy);
    });
  }
}

TEST(FsdpTraffic, NoSyncSendsGradientsOnceAndValuesInEachPass) {
  const Chain start;
  SeenOnDevice0 seen;
  const Subscription subscription(seen);
  with_nets(2, start, [&](Chain& net, Rank& rank) {
    const auto units = unit_nbytes(net, 2);
    const std::size_t half = sum_of(units) / 2;
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam adam(net.named_parameters());
    const auto backward = [&](int i) { forward_backward(fsdp, rank, i); };
    backward(0);
    adam.step();
    adam.zero_grad();
    const auto each = traffic_of(rank, seen, [&] {
      for (int i = 0; i < 3; ++i)
        backward(i);
      adam.step();
    });
    adam.zero_grad();
    const auto once = traffic_of(rank, seen, [&] {
      {
        const auto scope = fsdp.no_sync();
        backward(0);
        backward(1);
      }
      backward(2);
      adam.step();
    });
    if (rank.rank() != 0) return;
    EXPECT_EQ(each.second, 3 * half);
    EXPECT_EQ(once.second, half);
    const std::size_t a_pass = 2 * half - (units.at("head") + units.at("first")) / 2;
    EXPECT_EQ(each.first, 3 * a_pass);
    EXPECT_EQ(once.first, 3 * a_pass);
  });
}

TEST(FsdpTraffic, GradientsOfFrozenParametersOfAUnitAreNotMadeOrSent) {
  Chain start;
  for (const nn::NamedModule& part : start.children())
    static_cast<nn::Linear*>(part.module)->weight.requires_grad_(false);
  SeenOnDevice0 seen;
  const Subscription subscription(seen);
  with_nets(2, start, [&](Chain& net, Rank& rank) {
    std::map<std::string, std::size_t> biases;
    for (const nn::NamedModule& part : net.children())
      biases[part.name] = padded_nbytes({static_cast<nn::Linear*>(part.module)->bias}, 2);
    FullyShardedDataParallel fsdp(net, rank);
    optim::Adam adam(net.named_parameters());
    const auto step = [&] {
      forward_backward(fsdp, rank, 0);
      adam.step();
      adam.zero_grad();
    };
    step();
    const auto came = traffic_of(rank, seen, step);
    EXPECT_FALSE(net.first.weight.grad().defined());
    if (rank.rank() != 0) return;
    EXPECT_EQ(came.second, sum_of(biases) / 2);
  });
}

/// Two backwards in bf16 and a step.
template <class Wrapper>
void step_in_bf16(Mlp& net, Wrapper& wrapper, const Rank& rank) {
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  const Autocast mixed(DType::bf16);
  for (const std::uint64_t seed : {1, 2}) {
    const Batch batch = rows_of(make_batch(kRowsOfAll, seed, DType::f32, false), rank);
    const Tensor y = wrapper(batch.x);
    EXPECT_EQ(y.dtype(), DType::bf16);
    cross_entropy(y, batch.labels).backward();
  }
  optimizer.step();
}

TEST(FsdpTraffic, UnderAutocastGradientsAreSentAndAddedUpInTheParametersType) {
  manual_seed(3);
  const Mlp start(DType::f32);
  SeenOnDevice0 seen;
  const Subscription subscription(seen);
  Results replicated, sharded;
  with_nets(2, start, [&](Mlp& net, Rank& rank) {
    DistributedDataParallel ddp(net, rank);
    step_in_bf16(net, ddp, rank);
    replicated.put(rank, values_of(net));
  });
  with_nets(2, start, [&](Mlp& net, Rank& rank) {
    const std::size_t half = sum_of(unit_nbytes(net, 2)) / 2;
    FullyShardedDataParallel fsdp(net, rank);
    const auto came = traffic_of(rank, seen, [&] { step_in_bf16(net, fsdp, rank); });
    sharded.put(rank, unsharded_values(fsdp));
    if (rank.rank() != 0) return;
    EXPECT_EQ(came.second, 2 * half);
  });
  for (const int r : {0, 1})
    EXPECT_LE(difference(sharded.by_rank().at(r), replicated.by_rank().at(r)), 1e-7) << r;
}

TEST(FsdpTraffic, MemoryAtEachMomentIsTheSharesAndTheUnitsInUse) {
  const Chain start;
  struct Case {
    ShardingStrategy strategy;
    bool keeps_all;
  };
  for (const Case& c : {Case{full_shard, false}, Case{shard_grad_op, true}}) {
    with_nets(2, start, [&](Chain& net, Rank& rank) {
      const auto units = unit_nbytes(net, 2);
      const std::size_t whole = sum_of(units), share = whole / 2;
      FullyShardedDataParallel fsdp(net, rank, options_for(c.strategy, rank));
      // `start` is on device 0.
      const std::size_t others = held(rank.device())[0] - share;
      optim::Adam adam(net.named_parameters());
      const auto expect = [&](const char* when, const std::array<std::size_t, 3>& more) {
        auto now = held(rank.device());
        now[0] -= others;
        EXPECT_EQ(now, more) << when << ", rank " << rank.rank();
      };
      for (int step = 0; step < 3; ++step) {
        const std::size_t state = step == 0 ? 0 : 2 * share;
        expect("at rest", {share, share, state});
        const Batch batch = rows_of(batch_of_step(step), rank);
        const Tensor loss = cross_entropy(fsdp(batch.x), batch.labels);
        expect("after forward", {share + (c.keeps_all ? whole : units.at("head")), share, state});
        loss.backward();
        EXPECT_TRUE(net.first.weight.grad().defined());  // completes the reduction
        expect("after backward", {share, share, state});
        adam.step();
        expect("after the step", {share, share, 2 * share});
        adam.zero_grad();
        expect("after zero_grad", {share, share, 2 * share});
      }
    });
  }
}

}  // namespace
}  // namespace tandem::parallel::test
