// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// A device that has a share of a parameter does not write to it in a forward: the others would not
// see it.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "parallel/sharded_ranks.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kRefusal = "was written to in a forward or a backward on ";

/// Normalises a weight by hand, in the replicas or ranks that are listed.
struct Normalising : nn::Module {
  nn::Linear first{12, 6, {.dtype = DType::f64}}, second{6, 6, {.dtype = DType::f64}};
  nn::Linear head{6, 5, {.dtype = DType::f64}};
  std::vector<int> writers;
  bool writes_last = false;  // to the head, after which no other unit is used
  Tensor forward(const Tensor& x) {
    const Tensor y = tanh(first(x.flatten(1)));
    if (std::ranges::find(writers, context().replica) != writers.end()) {
      const autograd::NoGrad off;
      Tensor weight = writes_last ? head.weight.detach() : second.weight.detach();
      weight.mul_(0.5);
    }
    return head(tanh(second(y)));
  }
  TANDEM_MODULE(Normalising, first, second, head)
};

std::string refusal_of(const char* parameter, int device) {
  return std::string("'") + parameter + "' " + kRefusal + testing::device_name(device);
}

TEST(WrittenParameters, AreNamedAndLeaveStepsAndCallsWithoutEffect) {
  const Batch batch = small_batch();
  for (const bool offloads : {false, true}) {
    for (const bool reshards : {true, false}) {
      manual_seed(3);
      Normalising net;
      DataParallelOptions options{.devices = devices(3),
                                  .mode = Mode::fully_sharded,
                                  .sharding = {.reshard_after_forward = reshards}};
      if (offloads) options.sharding.offload = testing::device(7);
      DataParallel dp(net, options);
      optim::AdamW optimizer(net.named_parameters(), {.lr = 0.1});
      const Values before = values_of(net);
      for (const std::vector<int>& writers : std::vector<std::vector<int>>{{1}, {0, 1, 2}}) {
        for (const bool last : {false, true}) {
          for (int d = 0; d < 3; ++d) {
            dp.replica(d).writers = writers;
            dp.replica(d).writes_last = last;
          }
          const auto named = [&](const std::string& text) {
            const char* parameter = last ? "head.weight" : "second.weight";
            EXPECT_THAT(text, HasSubstr(refusal_of(parameter, writers.front())));
            EXPECT_EQ(values_of(net), before);
          };
          named(thrown_text<ReplicaError>([&] { dp.step(batch, kLoss, &optimizer); }));
          named(thrown_text<ReplicaError>([&] { dp(batch.x); }));
          const autograd::NoGrad off;
          named(thrown_text<ReplicaError>([&] { dp(batch.x); }));
        }
      }
      for (int d = 0; d < 3; ++d)
        dp.replica(d).writers.clear();
      Normalising alone = nn::clone(net);
      optim::AdamW one(alone.named_parameters(), {.lr = 0.1});
      dp.step(batch, kLoss, &optimizer);
      cross_entropy(alone(batch.x), batch.labels).backward();
      one.step();
      EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-12);
    }
  }
}

TEST(WrittenParameters, AreWrittenBetweenSteps) {
  Normalising net;
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::fully_sharded});
  Normalising alone = nn::clone(net);
  for (Normalising* each : {&net, &alone})
    each->second.weight.detach().mul_(0.5);
  const autograd::NoGrad off;
  const Batch batch = small_batch();
  EXPECT_LE(sum(square(dp(batch.x) - alone(batch.x))).item(), 1e-20);
}

TEST(WrittenParameters, InABackwardAreNamed) {
  Normalising net;
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::fully_sharded});
  const Values before = values_of(net);
  const int id = net.second.register_forward_hook([&](const nn::ForwardCall& call) {
    if (context().replica != 1) return;
    autograd::register_hook(call.tensors[0], [&](const Tensor& dy) {
      dp.replica(1).head.weight.detach().mul_(0.5);
      return dy;
    });
  });
  const Tensor loss = sum(dp(small_batch().x));
  EXPECT_THAT(thrown_text<ReplicaError>([&] { loss.backward(); }),
              HasSubstr(refusal_of("head.weight", 1)));
  EXPECT_EQ(values_of(net), before);
  net.second.remove_hook(id);
}

/// Writes to its weight once the gradient of its input is there, after all others.
struct WritingAtTheEnd : nn::Module {
  nn::Linear layer{12, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    if (context().replica == 1)
      autograd::register_hook(x, [this](const Tensor& dy) {
        layer.weight.detach().mul_(0.5);
        return dy;
      });
    return layer(x.flatten(1));
  }
  TANDEM_MODULE(WritingAtTheEnd, layer)
};

TEST(WrittenParameters, AtTheEndOfABackwardAreNamed) {
  WritingAtTheEnd net;
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::fully_sharded});
  const Values before = values_of(net);
  Tensor x = small_batch().x.detach();
  x.requires_grad_();
  const auto refused = [&] {
    const Tensor loss = sum(dp(x));
    EXPECT_THAT(thrown_text<ReplicaError>([&] { loss.backward(); }),
                HasSubstr(refusal_of("layer.weight", 1)));
    EXPECT_EQ(values_of(net), before);
  };
  refused();
  const auto scope = dp.no_sync();  // nothing is reduced after the write
  refused();
}

TEST(WrittenParameters, OfRanksAreNamedAndKeepTheirValues) {
  manual_seed(3);
  const Normalising start;
  for (const bool offloads : {false, true}) {
    for (const auto strategy : {ShardingStrategy::full_shard, ShardingStrategy::shard_grad_op}) {
      for (const bool last : {false, true}) {
        FullyShardedDataParallelOptions options{.strategy = strategy};
        if (offloads) options.sharding.offload = testing::device(7);
        with_nets(2, start, [&](Normalising& net, Rank& rank) {
          FullyShardedDataParallel fsdp(net, rank, options);
          const Values before = unsharded_values(fsdp);
          const Batch rows = rows_of(batch_of_step(0), rank);
          net.writers = {0, 1};
          net.writes_last = last;
          EXPECT_THAT(thrown_text<InvalidArgument>([&] { fsdp(rows.x); }),
                      HasSubstr(refusal_of(last ? "head.weight" : "second.weight", rank.rank())));
          EXPECT_EQ(unsharded_values(fsdp), before);
        });
      }
    }
  }
}

TEST(WrittenParameters, OfOneRankAloneEndAllRanks) {
  const Normalising start;
  const auto text = thrown_text<RankError>([&] {
    with_nets(2, start, [](Normalising& net, Rank& rank) {
      FullyShardedDataParallel fsdp(net, rank);
      net.writers = {1};
      fsdp(rows_of(batch_of_step(0), rank).x);
      rank.comm().barrier();
    });
  });
  EXPECT_THAT(text, AllOf(HasSubstr("rank 1"), HasSubstr(refusal_of("second.weight", 1))));
}

TEST(WrittenParameters, OfRanksAreNamedWhereTheyAreStillThereAfterAForward) {
  const Normalising start;
  with_nets(2, start, [](Normalising& net, Rank& rank) {
    FullyShardedDataParallel fsdp(net, rank);
    const Values before = unsharded_values(fsdp);
    const Batch rows = rows_of(batch_of_step(0), rank);
    fsdp(rows.x);
    net.head.weight.detach().fill_(0);
    EXPECT_THAT(thrown_text<InvalidArgument>([&] { fsdp(rows.x); }),
                HasSubstr(refusal_of("head.weight", rank.rank())));
    EXPECT_EQ(unsharded_values(fsdp), before);
  });
}

}  // namespace
}  // namespace tandem::parallel::test
