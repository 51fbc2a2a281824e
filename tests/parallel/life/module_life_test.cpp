// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <mutex>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What becomes of a module that is wrapped, and of its replicas.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// The text of what a step throws.
template <class Net>
std::string refusal(DataParallel<Net>& dp) {
  return thrown_text<InvalidArgument>([&] { dp.step(small_batch(), kLoss); });
}

struct Counting : nn::Module {
  Mlp mlp;
  int calls = 0;
  std::int64_t rows = 0;
  Tensor forward(const Tensor& x) {
    ++calls;
    rows += x.size(0);
    return mlp(x);
  }
  TANDEM_MODULE(Counting, mlp)
};

TEST(ModuleLifeTest, WhatAReplicaStoresStaysInIt) {
  Counting net;
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {2, 0, 7}});
  for (int i = 0; i < 3; ++i)
    dp.step(small_batch(), kLoss);
  EXPECT_EQ(dp.replica(0).rows, 6);
  EXPECT_EQ(&dp.replica(0), &net);
  EXPECT_EQ(dp.replica(1).calls, 0);
  EXPECT_EQ(dp.replica(2).calls, 3);
  EXPECT_EQ(dp.replica(2).rows, 21);
}

TEST(ModuleLifeTest, HooksSeeDeviceAndRows) {
  Mlp net;
  std::mutex mutex;
  std::map<int, RowRange> rows;
  std::map<int, Device> devices_of;
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {2, 3, 4}});
  // After wrapping: the replicas have been copied before.
  const int id = net.head.register_forward_hook([&](const nn::ForwardCall& call) {
    const std::scoped_lock lock(mutex);
    EXPECT_EQ(call.path, "head");
    rows[context().replica] = context().rows;
    devices_of[context().replica] = call.tensors[0].device();
  });
  dp.step(small_batch(), kLoss);
  EXPECT_EQ(rows, (std::map<int, RowRange>{{0, {0, 2}}, {1, {2, 5}}, {2, {5, 9}}}));
  for (int d = 0; d < 3; ++d)
    EXPECT_EQ(devices_of.at(d), testing::device(d));
  net.head.remove_hook(id);
  rows.clear();
  dp.step(small_batch(), kLoss);
  EXPECT_TRUE(rows.empty()) << "removed from the replicas too";
}

TEST(ModuleLifeTest, NamesStay) {
  Cnn net;
  std::vector<std::string> before, after;
  for (const auto& [name, x] : net.state_dict())
    before.push_back(name);
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(small_batch(), kLoss);
  for (const auto& [name, x] : net.state_dict())
    after.push_back(name);
  EXPECT_EQ(after, before);
  EXPECT_EQ(dp.replica(1).state_dict().size(), before.size());
}

/// Two layers of one weight; one layer that is frozen, one that is used on some rows alone, one
/// that is never used.
struct Odd : nn::Module {
  nn::Linear in{12, 5, {.dtype = DType::f64}};
  nn::Linear again{12, 5, {.dtype = DType::f64}};
  nn::Linear frozen{5, 5, {.dtype = DType::f64}};
  nn::Linear sometimes{5, 5, {.dtype = DType::f64}};
  nn::Linear never{5, 5, {.dtype = DType::f64}};
  Odd() {
    again.weight = in.weight;
    frozen.requires_grad_(false);
  }
  Tensor forward(const Tensor& x) {
    const Tensor flat = x.flatten(1);
    const Tensor y = frozen(in(flat)*again(flat * 0.5));
    const bool uses = context().rows.begin <= 0;  // the replica of the first row
    return uses ? y + sometimes(y.narrow(0, 0, 2)).sum({0}) : y;
  }
  TANDEM_MODULE(Odd, in, again, frozen, sometimes, never)
};

TEST(ModuleLifeTest, TiedFrozenAndUnusedParameters) {
  manual_seed(8);
  Odd net;
  const Batch batch = small_batch();
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{9, 0, 0}, {2, 3, 4}, {0, 4, 5}}) {
    Odd alone = nn::clone(net), wrapped = nn::clone(net);
    // One device, chunk by chunk.
    Tensor total = scalar(0, {.dtype = DType::f64});
    std::int64_t begin = 0;
    for (const std::int64_t rows : sizes) {
      if (rows == 0) continue;
      const ContextScope scope([&](Context& c) { c.rows = {begin, begin + rows}; });
      total = total + cross_entropy_sum(alone(batch.x.narrow(0, begin, rows)),
                                        batch.labels.narrow(0, begin, rows))
                          .sum;
      begin += rows;
    }
    (total / 9.0).backward();
    DataParallel dp(wrapped, {.devices = devices(3), .chunk_sizes = sizes});
    dp.step(batch, kLoss);
    for (const auto& [name, x] : alone.named_parameters()) {
      const Tensor got = wrapped.state_dict().at(name);
      EXPECT_EQ(got.to_doubles(), x.to_doubles());
    }
    const auto expected = alone.named_parameters(), got = wrapped.named_parameters();
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Tensor a = got[i].tensor.grad(), b = expected[i].tensor.grad();
      ASSERT_EQ(a.defined(), b.defined()) << got[i].name << ::testing::PrintToString(sizes);
      if (!a.defined()) continue;
      EXPECT_THAT(a.to_doubles(),
                  ::testing::Pointwise(::testing::DoubleNear(1e-12), b.to_doubles()))
          << got[i].name;
    }
    EXPECT_FALSE(wrapped.never.weight.grad().defined());
    EXPECT_TRUE(dp.replica(1).again.weight.is(dp.replica(1).in.weight));
  }
}

TEST(ModuleLifeTest, ChangesAfterWrappingAreNamed) {
  struct Change {
    const char* text;
    void (*make)(Mlp&);
  };
  const std::vector<Change> changes{
      {"'head.weight' was added, resized or moved after wrapping",
       [](Mlp& m) { m.head = nn::Linear(16, 9, {.dtype = DType::f64}); }},
      {"'hidden.weight' was added, resized or moved after wrapping",
       [](Mlp& m) { m.to(DType::f32); }},
      {"'head.bias' was removed after wrapping", [](Mlp& m) { m.head.bias = {}; }},
  };
  for (const Change& change : changes) {
    Mlp net;
    {
      DataParallel dp(net, {.devices = devices(2)});
      dp.step(small_batch(), kLoss);
      const Tensor early = dp(small_batch().x);
      change.make(net);
      EXPECT_THAT(refusal(dp), AllOf(HasSubstr(change.text), HasSubstr("wrap the module again")));
      EXPECT_THAT(thrown_text<InvalidArgument>([&] { dp(small_batch().x); }),
                  HasSubstr(change.text));
      EXPECT_THAT(thrown_text<InvalidArgument>([&] { early.sum().backward(); }),
                  HasSubstr(change.text));
    }
    net.zero_grad();
    if (net.head.weight.dtype() != DType::f64 || net.head.weight.size(0) != 5) continue;
    DataParallel again(net, {.devices = devices(2)});
    again.step(small_batch(), kLoss);
  }
}

/// Trains the head, then all, then all but the first layer's bias.
template <class Step>
void train_in_phases(Mlp& net, const Step& step) {
  net.requires_grad_(false);
  net.head.requires_grad_();
  step();
  net.requires_grad_();
  step();
  net.hidden.bias.requires_grad_(false);
  step();
}

TEST(ModuleLifeTest, FreezingAndUnfreezingAreFollowed) {
  const Batch batch = small_batch();
  for (const Mode mode : kModes) {
    for (const int n : {1, 3}) {
      manual_seed(1);
      Mlp net;
      Mlp alone = nn::clone(net);
      optim::AdamW one(alone.named_parameters(), {.lr = 0.05});
      train_in_phases(alone, [&] {
        for (int i = 0; i < 2; ++i) {
          one.zero_grad();
          cross_entropy(alone(batch.x), batch.labels).backward();
          one.step();
        }
      });
      optim::AdamW optimizer(net.named_parameters(), {.lr = 0.05});
      DataParallel dp(net, {.devices = devices(n), .mode = mode});
      train_in_phases(net, [&] {
        dp.step(batch, kLoss, &optimizer);
        optimizer.zero_grad();
        cross_entropy(dp(batch.x), batch.labels).backward();
        optimizer.step();
      });
      EXPECT_LT(difference(values_of(net), values_of(alone)), 1e-12) << name(mode) << n;
    }
  }
}

TEST(ModuleLifeTest, WhatWasFrozenBeforeWrappingTrainsOnceItIsUnfrozen) {
  const Batch batch = small_batch();
  const auto train = [](Mlp& net, const auto& step) {
    step();
    net.hidden.weight.requires_grad_();
    step();
    net.hidden.bias.requires_grad_();
    step();
  };
  manual_seed(1);
  Mlp frozen;
  frozen.hidden.requires_grad_(false);
  Mlp alone = nn::clone(frozen);
  optim::SGD one(alone.named_parameters(), {.lr = 0.05});
  train(alone, [&] {
    one.zero_grad();
    cross_entropy(alone(batch.x), batch.labels).backward();
    one.step();
  });
  for (const Mode mode : kModes) {
    for (const int n : {1, 3}) {
      Mlp net = nn::clone(frozen);
      optim::SGD optimizer(net.named_parameters(), {.lr = 0.05});
      DataParallel dp(net, {.devices = devices(n), .mode = mode});
      train(net, [&] { dp.step(batch, kLoss, &optimizer); });
      EXPECT_LT(difference(values_of(net), values_of(alone)), 1e-12) << name(mode) << n;
    }
  }
}

TEST(ModuleLifeTest, ATapeOfBeforeIsRefusedOnceAnotherCallHasFollowed) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor early = dp(small_batch().x);
  net.hidden.bias.requires_grad_(false);
  dp(small_batch().x);
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { early.sum().backward(); }),
              HasSubstr("parameters were frozen or unfrozen after this dp(x)"));
  dp(small_batch().x).sum().backward();
  EXPECT_TRUE(net.head.weight.grad().defined());
  EXPECT_FALSE(net.hidden.bias.grad().defined());
}

TEST(ModuleLifeTest, WrappingTwiceIsRefused) {
  Counting net;
  std::optional<DataParallel<Counting>> dp(
      std::in_place, net, DataParallelOptions{.devices = devices(2)});
  const auto wrap = [](auto& module) {
    return thrown_text<InvalidArgument>([&] { DataParallel(module, {.devices = devices(2)}); });
  };
  EXPECT_THAT(wrap(net), HasSubstr("the module (Counting) is already wrapped"));
  EXPECT_THAT(wrap(net.mlp), HasSubstr("the module (Mlp) is already wrapped"));
  Counting copy = nn::clone(net);
  DataParallel of_copy(copy, {.devices = devices(2)});
  dp.reset();
  DataParallel again(net, {.devices = devices(2)});
  again.step(small_batch(), kLoss);
}

TEST(ModuleLifeTest, APlainCopyOfAWrappedModuleIsRefused) {
  Mlp net;
  Mlp copy = net;  // has the same tensors
  std::optional<DataParallel<Mlp>> dp(
      std::in_place, net, DataParallelOptions{.devices = devices(2)});
  const auto wrap = [&] {
    return thrown_text<InvalidArgument>([&] { DataParallel(copy, {.devices = devices(2)}); });
  };
  EXPECT_THAT(wrap(), HasSubstr("'hidden.weight' is a tensor of a module that is already wrapped"));
  dp.reset();
  DataParallel of_copy(copy, {.devices = devices(2)});
  of_copy.step(small_batch(), kLoss);
  EXPECT_TRUE(net.hidden.weight.grad().defined());
}

TEST(ModuleLifeTest, AParameterTiedToAWrappedModulesIsRefused) {
  Mlp a, b;
  b.head.weight = a.head.weight;
  DataParallel dp(a, {.devices = devices(2)});
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { DataParallel(b, {.devices = devices(2)}); }),
              HasSubstr("'head.weight' is a tensor of a module that is already wrapped"));
  dp.step(small_batch(), kLoss);
}

TEST(ModuleLifeTest, APartThatIsWrappedIsNamed) {
  Counting net;
  DataParallel part(net.mlp, {.devices = devices(2)});
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { DataParallel(net, {.devices = devices(2)}); }),
              HasSubstr("'mlp' (Mlp) is already wrapped"));
}

TEST(ModuleLifeTest, ACallInsideAReplicaIsRefused) {
  Mlp inner_net, net;
  DataParallel inner(inner_net, {.devices = devices(2)});
  DataParallel dp(net, {.devices = devices(2)});
  for (DataParallel<Mlp>* called : {&inner, &dp}) {
    const auto loss = [called](Mlp& m, const Batch& b) {
      (*called)(b.x);
      return cross_entropy_sum(m(b.x), b.labels);
    };
    EXPECT_THAT(thrown_text<ReplicaError>([&] { dp.step(small_batch(), loss); }),
                AllOf(HasSubstr("called inside a replica (rows "),
                      HasSubstr("call the module itself instead")));
  }
  dp.step(small_batch(), kLoss);
}

/// A loss with a gradient penalty: the squared norm of each row's gradient of the output.
WeightedSum penalised(Mlp& m, const Batch& b) {
  Tensor x = b.x.detach();
  x.requires_grad_();
  const Tensor y = m(x);
  const Tensor slope = autograd::grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
  const WeightedSum loss = cross_entropy_sum(y, b.labels);
  return {loss.sum + sum(square(slope)), loss.weight};
}

TEST(ModuleLifeTest, GradientPenaltiesInTheReplicaEqualOneDevice) {
  manual_seed(2);
  Mlp net;
  Mlp alone = nn::clone(net);
  const Batch batch = small_batch();
  const WeightedSum loss = penalised(alone, batch);
  (loss.sum / loss.weight).backward();
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {2, 0, 7}});
  dp.step(batch, penalised);
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

}  // namespace
}  // namespace tandem::parallel::test
