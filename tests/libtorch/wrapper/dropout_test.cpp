// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Dropout by row: the masks of a batch do not depend on devices and chunks.

#include <gmock/gmock.h>

#include "libtorch/models.hpp"
#include "libtorch/modes.hpp"
#include "libtorch/test_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using parallel::Mode;

constexpr std::int64_t kDropoutRows = 13;

ModuleOptions<DropoutsImpl> by_row() {
  return {.dropout = DropoutMask::by_row};
}

/// The weights after some steps, half of them with the loss outside of the replicas.
std::vector<at::Tensor> trained(const parallel::DataParallelOptions& options) {
  torch::manual_seed(4);
  Dropouts net;
  net->to(torch::kDouble);
  torch::optim::SGD optimizer(net->parameters(), 0.1);
  DataParallel dp(net, options, by_row());
  for (int step = 0; step < 6; ++step) {
    const Batch batch = MlpImpl::batch(kDropoutRows);
    optimizer.zero_grad();
    if (step % 2 == 0)
      torch::mse_loss(dp(batch.x), batch.y).backward();
    else
      dp.step(batch, squared_error);
    optimizer.step();
  }
  return net->parameters();
}

TEST(DropoutByRowTest, IsTheSameOnAnyDevicesInAnyChunksAndMicroBatches) {
  const auto one = trained({.devices = test_devices(1)});
  EXPECT_LE(difference(one, trained({.devices = test_devices(1), .accumulate = 3})), 1e-12);
  for (const Mode mode : kModes) {
    EXPECT_LE(difference(one, trained({.devices = test_devices(3), .mode = mode})), 1e-12);
    EXPECT_LE(
        difference(
            one, trained({.devices = test_devices(4), .mode = mode, .chunk_sizes = {1, 0, 10, 2}})),
        1e-12);
  }
}

TEST(DropoutByRowTest, ZeroesTheShareOfItsProbabilityAndScalesTheRest) {
  struct OnlyImpl : torch::nn::Module {
    at::Tensor forward(const at::Tensor& x) { return torch::dropout(x, 0.25, is_training()); }
  };
  torch::manual_seed(4);
  const auto net = std::make_shared<OnlyImpl>();
  DataParallel dp(
      net, {.devices = test_devices(2)}, ModuleOptions<OnlyImpl>{.dropout = DropoutMask::by_row});
  const at::Tensor x = torch::ones({100, 400}, torch::requires_grad());
  const at::Tensor y = dp(x), next = dp(x);
  y.sum().backward();
  EXPECT_NEAR((y == 0).to(torch::kFloat).mean().item<double>(), 0.25, 0.01);
  EXPECT_TRUE(torch::allclose(y.max(), torch::tensor(4.0 / 3)));
  EXPECT_TRUE(torch::equal(x.grad(), y));
  EXPECT_FALSE(torch::equal(y, next));
  net->eval();
  EXPECT_TRUE(torch::equal(dp(x), x));
}

/// What PyTorch warns of, while it lives.
class Warnings final : public c10::WarningHandler {
 public:
  Warnings() : before_(c10::WarningUtils::get_warning_handler()) {
    c10::WarningUtils::set_warning_handler(this);
  }
  ~Warnings() override { c10::WarningUtils::set_warning_handler(before_); }
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;

 private:
  c10::WarningHandler* before_;
};

/// Dropout, and at will an op that draws by device.
struct MixedImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor y = torch::dropout(x, 0.25, is_training());
    return draws ? y + torch::rand_like(y) : y;
  }
  static inline bool draws = false;
};

TEST(DropoutByRowTest, WarnsOnceOfOpsThatDrawByDevice) {
  const auto net = std::make_shared<MixedImpl>();
  DataParallel dp(
      net, {.devices = test_devices(2)}, ModuleOptions<MixedImpl>{.dropout = DropoutMask::by_row});
  Warnings warnings;
  dp(torch::ones({4, 2}));
  EXPECT_THAT(warnings.texts, ::testing::IsEmpty());
  MixedImpl::draws = true;
  dp(torch::ones({4, 2}));
  dp(torch::ones({4, 2}));
  EXPECT_THAT(warnings.texts, ::testing::ElementsAre(::testing::HasSubstr("dropout is by_row")));
}

}  // namespace
}  // namespace tandem::libtorch::test
