// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/device_replica.hpp"

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::Each;
using Used = GradientTally::Used;

/// A replica of a layer of 2 x 1 weights and a bias, whose gradients are reduced at the end.
struct Layer {
  explicit Layer(int index = 0) : replica(index, testing::device(0), module) {
    module.to(testing::device(0));
    std::vector<optim::ArenaEntry> entries;
    for (const nn::NamedTensor& p : module.named_parameters())
      entries.push_back({p.name, p.tensor});
    replica.bind_parameters(optim::Arena::obtain(std::move(entries)));
    replica.reduce_by(std::make_shared<const std::vector<Bucket>>(
                          plan_buckets(replica.parameters()->layout(), 64, 64)),
                      {.at_end = true});
  }
  void backward() { module(ones({3, 2}, {.device = testing::device(0)})).sum().backward(); }

  nn::Linear module{2, 1};
  DeviceReplica replica;
};

TEST(DeviceReplicaTest, TellsItsReducerOfTheGradientsThatABackwardMakes) {
  Layer layer;
  int told = 0;
  layer.replica.watch_gradients([&] { ++told; });
  layer.replica.arm({}, 1, Used::fresh);
  layer.replica.reducer()->begin_backward();
  layer.backward();
  EXPECT_EQ(told, 2);
  EXPECT_THAT(layer.replica.reducer()->tally().used(), Each(1));
  EXPECT_TRUE(layer.replica.reducer()->tally().missing().empty());
}

TEST(DeviceReplicaTest, TellsNobodyOnceItDoesNotWatch) {
  Layer layer;
  int told = 0;
  layer.replica.watch_gradients([&] { ++told; });
  layer.replica.unwatch_gradients();
  layer.backward();
  EXPECT_EQ(told, 0);
}

TEST(DeviceReplicaTest, OtherDevicesBeginFromNoGradients) {
  for (const int index : {0, 1}) {
    Layer layer(index);
    layer.backward();
    layer.replica.arm({}, 1, Used::kept);
    EXPECT_TRUE(layer.module.weight.grad().defined());
    layer.replica.arm({}, 1, Used::fresh);
    EXPECT_EQ(layer.module.weight.grad().defined(), index == 0);
  }
}

TEST(DeviceReplicaTest, AChangedValueHasAnotherVersion) {
  Layer layer;
  const auto before = block_versions(*layer.replica.parameters());
  EXPECT_EQ(block_versions(*layer.replica.parameters()), before);
  {
    const autograd::NoGrad off;
    layer.module.bias.fill_(2);
  }
  EXPECT_NE(block_versions(*layer.replica.parameters()), before);
}

TEST(DeviceReplicaTest, ReplicasHaveRealmsOfTheirOwn) {
  const Layer a, b;
  EXPECT_NE(a.replica.realm(), b.replica.realm());
}

TEST(DeviceReplicaTest, LetsGoOfItsParameters) {
  Layer layer;
  layer.replica.watch_gradients();
  layer.replica.received.parameters = {1};
  layer.replica.release_parameters();
  EXPECT_TRUE(layer.replica.parameters()->layout().places().empty());
  EXPECT_TRUE(layer.replica.reducer()->buckets().empty());
  layer.replica.disarm();  // there is nothing to forget
  layer.backward();
  EXPECT_THAT(layer.module.bias.grad().to_doubles(), Each(3));
}

}  // namespace
}  // namespace tandem::parallel::test
