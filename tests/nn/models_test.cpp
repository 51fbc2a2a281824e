// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include <gmock/gmock.h>

#include "tandem/nn/activation.hpp"
#include "tandem/nn/flatten.hpp"
#include "tandem/nn/loss.hpp"
#include "tandem/nn/models/cnn.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/pool.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/nn/sequential.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "nn/parameter_count.hpp"

namespace tandem::nn::models {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

/// Every parameter gets a finite gradient that is not all zero.
template <class M>
void expect_trains(M& net, const Tensor& x) {
  const Tensor y = net(x);
  ASSERT_EQ(y.shape(), (Shape{x.size(0), 10}));
  CrossEntropyLoss()(y, zeros({x.size(0)}, {.dtype = DType::i64, .device = x.device()})).backward();
  for (const auto& [name, p] : net.named_parameters()) {
    ASSERT_TRUE(p.grad().defined()) << name;
    const double norm = global_norm({p.grad()}).item();
    EXPECT_TRUE(std::isfinite(norm)) << name;
    if (name.ends_with("conv.bias")) continue;  // batch norm takes it off again
    EXPECT_GT(norm, 0) << name;
  }
}

/// The state of `from` under the names of `to`, which has the same tensors in the same order.
void load_in_order(Module& to, const Module& from) {
  const StateDict source = from.state_dict();
  StateDict state;
  auto next = source.begin();
  for (const NamedTensor& entry : to.state_dict())
    state.set(entry.name, (next++)->tensor);
  to.load_state_dict(state);
}

class ModelsTest : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(4); }
};

TEST_F(ModelsTest, MlpHasTheSizesOfItsOptions) {
  EXPECT_EQ(testing::parameter_count(Mlp()), 784 * 1024 + 1024 + 1024 * 1024 + 1024 + 10240 + 10);
  Mlp net({.sizes = {12, 7, 10}, .dtype = DType::f64});
  expect_trains(net, randn({5, 3, 2, 2}, {.dtype = DType::f64}));
  EXPECT_THROW(Mlp({.sizes = {3}}), InvalidArgument);
}

TEST_F(ModelsTest, CnnSmallTakesImagesOfAnySize) {
  EXPECT_EQ(testing::parameter_count(CnnSmall()), 206'922);
  CnnSmall digits({.size = {8, 8}});
  EXPECT_EQ(digits.hidden.weight.shape(), (Shape{128, 128}));
  expect_trains(digits, randn({3, 1, 8, 8}));
  CnnSmall odd({.channels = 2, .size = {9, 6}, .dtype = DType::f64});
  expect_trains(odd, randn({3, 2, 9, 6}, {.dtype = DType::f64}));
  try {
    CnnSmall({.size = {3, 28}});
    FAIL();
  } catch (const InvalidArgument& e) {
    EXPECT_THAT(e.what(), ::testing::HasSubstr("at least 4 x 4, got 3 x 28"));
  }
}

TEST_F(ModelsTest, CnnIsThatOfThePeers) {
  Cnn net;
  // convolutions 896 + 9,248 + 18,496 + 36,928 + 73,856, norms 640, head 1,290
  EXPECT_EQ(testing::parameter_count(net), 141'354);
  EXPECT_EQ(net.state_dict().size(), 5u * 7 + 2);
  expect_trains(net, randn({4, 3, 9, 8}));
}

// Layers and Sequential agree with PyTorch's (tests/oracles), so they tell what the models are.
TEST_F(ModelsTest, MlpIsItsLayersWithReluBetween) {
  Mlp net({.sizes = {12, 7, 6, 10}, .dtype = DType::f64});
  Sequential layers{Flatten(), Linear(12, 7), ReLU(), Linear(7, 6), ReLU(), Linear(6, 10)};
  layers.to(DType::f64);
  load_in_order(layers, net);
  const Tensor x = randn({5, 3, 4}, {.dtype = DType::f64});
  EXPECT_THAT(net(x).to_doubles(), Pointwise(DoubleNear(1e-12), layers(x).to_doubles()));
}

TEST_F(ModelsTest, CnnSmallIsItsLayersInOrder) {
  CnnSmall net({.size = {8, 8}, .dtype = DType::f64});
  Sequential layers{Conv2d(1, 16, 3, {.padding = {1, 1}}),
                    ReLU(),
                    MaxPool2d(2),
                    Conv2d(16, 32, 3, {.padding = {1, 1}}),
                    ReLU(),
                    MaxPool2d(2),
                    Flatten(),
                    Linear(128, 128),
                    ReLU(),
                    Linear(128, 10)};
  layers.to(DType::f64);
  load_in_order(layers, net);
  const Tensor x = randn({3, 1, 8, 8}, {.dtype = DType::f64});
  EXPECT_THAT(net(x).to_doubles(), Pointwise(DoubleNear(1e-12), layers(x).to_doubles()));
}

auto block(std::int64_t in, std::int64_t out) {
  return Sequential{Conv2d(in, out, 3, {.padding = {1, 1}}), BatchNorm2d(out), ReLU()};
}

TEST_F(ModelsTest, CnnIsItsLayersInOrder) {
  Cnn net({.dtype = DType::f64});
  Sequential layers{block(3, 32),
                    block(32, 32),
                    MaxPool2d(2),
                    block(32, 64),
                    block(64, 64),
                    MaxPool2d(2),
                    block(64, 128),
                    AdaptiveAvgPool2d(1),
                    Flatten(),
                    Linear(128, 10)};
  layers.to(DType::f64);
  load_in_order(layers, net);
  const Tensor x = randn({4, 3, 9, 8}, {.dtype = DType::f64});
  EXPECT_THAT(net(x).to_doubles(), Pointwise(DoubleNear(1e-11), layers(x).to_doubles()));
}

TEST_F(ModelsTest, MemoryFormatOfTheInputChangesNothing) {
  CnnSmall net({.channels = 2, .size = {8, 8}, .dtype = DType::f64});
  const Tensor x = randn({3, 2, 8, 8}, {.dtype = DType::f64});
  const Tensor y = net(x), last = net(x.contiguous(MemoryFormat::channels_last));
  if (testing::on_gpus())  // another kernel, which adds up in another order
    EXPECT_THAT(last.to_doubles(), Pointwise(DoubleNear(1e-11), y.to_doubles()));
  else
    EXPECT_EQ(last.to_doubles(), y.to_doubles());
}

TEST_F(ModelsTest, AReplicaOnAnotherDeviceGivesTheSame) {
  Cnn net({.dtype = DType::f64});
  const Device other = testing::device(1);
  Cnn replica = replicate(net, other);
  const Tensor x = randn({4, 3, 8, 8}, {.dtype = DType::f64});
  const Tensor y = replica(x.to(other));
  EXPECT_EQ(y.device(), other);
  EXPECT_EQ(y.to_doubles(), net(x).to_doubles());
  EXPECT_EQ(replica.blocks[3].norm.running_mean.to_doubles(),
            net.blocks[3].norm.running_mean.to_doubles());
}

}  // namespace
}  // namespace tandem::nn::models
