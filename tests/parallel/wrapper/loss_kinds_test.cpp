// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <chrono>
#include <future>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// A step's losses are means over rows, whose weight is known before, or sums with weights of their
// own, which all replicas must have before one can go backward.
namespace tandem::parallel::test {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using testing::thrown_text;

class LossKindsTest : public ::testing::TestWithParam<Mode> {};

TEST_P(LossKindsTest, AReplicaWithAMeanGoesBackwardWhileAnotherIsInItsForward) {
  if (GetParam() == Mode::fully_sharded) GTEST_SKIP() << "its backward gathers units from all";
  if (testing::on_gpus()) GTEST_SKIP() << "the stand-in runs kernels when it is waited for";
  Mlp net;
  const Batch batch = small_batch();
  std::promise<void> promise;
  const std::shared_future<void> is_back = promise.get_future().share();
  DataParallel dp(
      net, {.devices = devices(2), .mode = GetParam(), .chunks = ChunkPolicy::sizes({4, 5})});
  dp.step(batch, [&](Mlp& m, const Batch& b) {
    const Tensor y = m(b.x);
    if (b.x.size(0) == 4)
      autograd::register_hook(y, [&](const Tensor&) {
        promise.set_value();
        return Tensor();
      });
    else
      EXPECT_EQ(is_back.wait_for(seconds(10)), std::future_status::ready);
    return cross_entropy(y, b.labels);
  });
}

/// A net of one number, whose gradient is as large as a weight of a loss.
struct Scale : nn::Module {
  nn::Parameter weight = full({1}, 2.0, {.dtype = DType::f64});
  Tensor forward(const Tensor& x) { return x * weight; }
  TANDEM_MODULE(Scale, weight)
};

TEST_P(LossKindsTest, MixedOnesAreRefusedAndHaveNoEffect) {
  for (const int mean_rows : {2, 3, 4}) {
    Scale net;
    Scale plain = nn::clone(net);
    const Tensor x = randn({9, 1}, {.dtype = DType::f64});
    DataParallel dp(
        net, {.devices = devices(3), .mode = GetParam(), .chunks = ChunkPolicy::sizes({2, 3, 4})});
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
    const auto loss = [=](Scale& m, const Tensor& part) {
      WeightedSum sum = mse_loss_sum(m(part), part);
      if (part.size(0) == mean_rows) sum.weight = {};
      return sum;
    };
    EXPECT_THAT(thrown_text<ReplicaError>([&] { dp.step(x, loss, &optimizer); }),
                HasSubstr("step: the losses of some replicas have a weight, and those of others"));
    EXPECT_EQ(net.weight.item(), 2);

    const auto mean = [](Scale& m, const Tensor& part) { return mse_loss(m(part), part); };
    dp.step(x, mean, &optimizer);
    optim::SGD alone(plain.named_parameters(), {.lr = 0.1});
    mean(plain, x).backward();
    alone.step();
    EXPECT_NEAR(net.weight.item(), plain.weight.item(), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, LossKindsTest, ::testing::ValuesIn(kModes), [](const auto& p) {
  return name(p.param);
});

}  // namespace
}  // namespace tandem::parallel::test
