// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// As few virtual devices as there can be, and as many, each in a process of its own, since devices
// that are registered stay so.

#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>

#include "libtorch/models.hpp"
#include "libtorch/registered_devices.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

/// Trains a module on that many devices, and ends the process: 0 if it is as on one.
[[noreturn]] void train_on(int devices) {
  register_devices(devices);
  torch::manual_seed(1);
  auto [one, many] = twins<Mlp>();
  DataParallel dp(many, {.devices = test_devices(devices)});
  const Batch batch = MlpImpl::batch(2 * devices);
  squared_error(*one, batch).backward();
  dp.step(batch, squared_error);
  const torch::Device last = device(devices - 1);
  const torch::Tensor x = torch::ones({3}, torch::TensorOptions(last)) * 2;
  const double gap = gradient_difference(*one, *many);
  std::fprintf(stderr, "%d devices, gap %g\n", registered_devices(), gap);
  std::_Exit(registered_devices() >= devices && gap <= 1e-12 && x.device() == last &&
                     x.cpu().sum().item<float>() == 6
                 ? 0
                 : 1);
}

TEST(ManyDevicesTest, TrainFromOneTo64) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int devices : {1, 2, 64})
    EXPECT_EXIT(train_on(devices), ::testing::ExitedWithCode(0), "devices, gap") << devices;
}

}  // namespace
}  // namespace tandem::libtorch::test
