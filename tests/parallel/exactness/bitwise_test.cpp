// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include <gmock/gmock.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// In the bitwise mode nothing about the devices can be seen in the result: 0 bits of difference.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Convolution, pooling, dropout and products.
struct DropoutCnn : nn::Module {
  explicit DropoutCnn(DType t) : cnn(t) {}
  PlainCnn cnn;
  nn::Dropout dropout{0.25};
  Tensor forward(const Tensor& x) { return cnn(dropout(x)); }
  TANDEM_MODULE(DropoutCnn, cnn, dropout)
};

template <class Net, class Optimizer = optim::AdamW>
Values train(DType t, const DataParallelOptions& options, int steps = 4) {
  manual_seed(11);
  default_generator().forwards().store(0);
  Net net(t);
  Optimizer optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, options);
  Values values;
  for (int step = 0; step < steps; ++step) {
    const Batch batch =
        make_batch(step == 2 ? 5 : 29, 60 + static_cast<std::uint64_t>(step), t, true);
    values["loss"].push_back(dp.step(batch, kLoss, &optimizer).loss);
  }
  for (auto& [name, x] : values_of(net))
    values[name] = x;
  return values;
}

template <class Net>
void expect_no_bit_of_difference(DType t) {
  const Values one = train<Net>(t, {.devices = devices(1), .bitwise_leaves = 7});
  for (const int n : {2, 3, 4}) {
    if (n > testing::device_limit()) break;
    const std::int64_t few = n == 2 ? 0 : 3;  // rows of device 0
    for (const Mode mode : kModes) {
      EXPECT_EQ(train<Net>(t, {.devices = devices(n), .mode = mode, .bitwise_leaves = 7}), one)
          << n << " devices, " << name(mode);
      EXPECT_EQ(train<Net>(
                    t, {.devices = devices(n), .mode = mode, .gpu0_bsz = few, .bitwise_leaves = 7}),
                one)
          << n << " devices, gpu0_bsz " << few << ", " << name(mode);
    }
  }
  // The same weights as without, but for rounding; another tree has other bits.
  EXPECT_NE(train<Net>(t, {.devices = devices(2), .bitwise_leaves = 3}), one);
  const Values usual = train<Net>(t, {.devices = devices(2)});
  EXPECT_LE(difference(usual, one), t == DType::f64 ? 1e-12 : 1e-4);
}

TEST(BitwiseTest, MlpF32) {
  expect_no_bit_of_difference<Mlp>(DType::f32);
}

TEST(BitwiseTest, CnnWithDropoutF32) {
  expect_no_bit_of_difference<DropoutCnn>(DType::f32);
}

TEST(BitwiseTest, MlpF64) {
  expect_no_bit_of_difference<Mlp>(DType::f64);
}

template <class Optimizer>
void expect_devices_update_as_one() {
  const auto on = [](int n, Mode mode) {
    return train<Mlp, Optimizer>(
        DType::f32, {.devices = devices(n), .mode = mode, .bitwise_leaves = 7}, kSteps);
  };
  const Values one = on(1, Mode::sharded);
  const int most = std::min(3, testing::device_limit());
  for (const Mode mode : {Mode::sharded, Mode::ddp})
    EXPECT_EQ(on(most, mode), one) << most << " devices, " << name(mode);
}

// Shares end in the middle of tensors. RAdam divides from its sixth step on.
TEST(BitwiseTest, OptimizersThatDevicesShare) {
  expect_devices_update_as_one<optim::SGD>();
  expect_devices_update_as_one<optim::Adam>();
  expect_devices_update_as_one<optim::NAdam>();
  expect_devices_update_as_one<optim::RAdam>();
  expect_devices_update_as_one<optim::RMSprop>();
  expect_devices_update_as_one<optim::Adagrad>();
  expect_devices_update_as_one<optim::Adadelta>();
}

TEST(BitwiseTest, GradientsAddUpOverSteps) {
  const auto twice = [](int n) {
    manual_seed(4);
    Mlp net(DType::f32);
    DataParallel dp(net, {.devices = devices(n), .bitwise_leaves = 4});
    dp.step(make_batch(9, 1, DType::f32, false), kLoss);
    dp.step(make_batch(9, 2, DType::f32, false), kLoss);
    return gradients_of(net);
  };
  EXPECT_EQ(twice(3), twice(1));
}

TEST(BitwiseTest, RefusesWhatItHasNoRuleFor) {
  const Batch batch = make_batch(9, 1, DType::f64, false);
  Cnn norm;
  DataParallel dp(norm, {.devices = devices(2), .bitwise_leaves = 4});
  EXPECT_THAT(thrown_text([&] { dp.step(batch, kLoss); }),
              AllOf(HasSubstr("bitwise_leaves"), HasSubstr("no rule for buffers")));
  Mlp net;
  EXPECT_THROW(DataParallel(net, {.devices = devices(2), .bitwise_leaves = -1}), InvalidArgument);
  {
    DataParallel unsynced(net, {.devices = devices(2), .bitwise_leaves = 2});
    const auto scope = unsynced.no_sync();
    EXPECT_THROW(unsynced.step(batch, kLoss), InvalidArgument);
  }
  DataParallel both(net, {.devices = devices(2), .accumulate = 2, .bitwise_leaves = 2});
  EXPECT_THAT(thrown_text([&] { both.step(batch, kLoss); }),
              HasSubstr("bitwise_leaves and accumulate both cut the batch"));
}

}  // namespace
}  // namespace tandem::parallel::test
