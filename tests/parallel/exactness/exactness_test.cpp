// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <numeric>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// The result of training is one device's, however many devices there are and however the rows are
// cut.
namespace tandem::parallel::test {
namespace {

enum class Algorithm { sgd, adamw, lamb, rmsprop, nadam, radam, adadelta };

std::unique_ptr<optim::Optimizer> make_optimizer(Algorithm algorithm, nn::Module& net) {
  if (algorithm == Algorithm::sgd) {
    return std::make_unique<optim::SGD>(
        net.named_parameters(),
        optim::SGDOptions{.lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3});
  }
  if (algorithm == Algorithm::lamb)
    return std::make_unique<optim::LAMB>(net.named_parameters(), optim::LAMBOptions{.lr = 0.01});
  if (algorithm == Algorithm::rmsprop) {
    return std::make_unique<optim::RMSprop>(net.named_parameters(),
                                            optim::RMSpropOptions{.lr = 1e-3, .eps = 1e-3});
  }
  if (algorithm == Algorithm::nadam)
    return std::make_unique<optim::NAdam>(net.named_parameters(), optim::NAdamOptions{.lr = 0.01});
  if (algorithm == Algorithm::radam)
    return std::make_unique<optim::RAdam>(net.named_parameters(), optim::RAdamOptions{.lr = 0.01});
  if (algorithm == Algorithm::adadelta)
    return std::make_unique<optim::Adadelta>(net.named_parameters());
  return std::make_unique<optim::AdamW>(net.named_parameters(), optim::AdamWOptions{.lr = 0.01});
}

Batch batch_of_step(int step, DType t, bool ignored) {
  return make_batch(step % 5 == 4 ? kLastTrainingRows : kTrainingRows,
                    100 + static_cast<std::uint64_t>(step),
                    t,
                    ignored);
}

/// One device: the module itself, the mean loss, a plain loop. The oracle.
template <class Net>
Values train_alone(Net net, Algorithm algorithm, DType t, bool ignored, int steps = kSteps) {
  const auto optimizer = make_optimizer(algorithm, net);
  for (int step = 0; step < steps; ++step) {
    const Batch batch = batch_of_step(step, t, ignored);
    optimizer->zero_grad();
    cross_entropy(net(batch.x), batch.labels).backward();
    optimizer->step();
  }
  return values_of(net);
}

template <class Net>
Values train_parallel(Net net,
                      Algorithm algorithm,
                      DType t,
                      bool ignored,
                      const DataParallelOptions& options,
                      int steps = kSteps) {
  const auto optimizer = make_optimizer(algorithm, net);
  DataParallel dp(net, options);
  for (int step = 0; step < steps; ++step)
    dp.step(batch_of_step(step, t, ignored), kLoss, optimizer.get());
  return values_of(net);
}

/// Random sizes for `n` devices that add up to kTrainingRows; some may be zero.
std::vector<std::int64_t> random_sizes(int n) {
  std::vector<std::int64_t> sizes;
  std::int64_t left = kTrainingRows;
  for (int i = 0; i + 1 < n; ++i) {
    sizes.push_back(*rc::gen::inRange<std::int64_t>(0, left + 1));
    left -= sizes.back();
  }
  sizes.push_back(left);
  return sizes;
}

template <class Net>
void check_random_chunking() {
  const int n = *rc::gen::suchThat(rc::gen::element(1, 2, 3, 4, 7),
                                   [](int i) { return i <= testing::device_limit(); });
  const auto algorithm = *rc::gen::element(Algorithm::sgd,
                                           Algorithm::adamw,
                                           Algorithm::lamb,
                                           Algorithm::rmsprop,
                                           Algorithm::nadam,
                                           Algorithm::radam,
                                           Algorithm::adadelta);
  const bool ignored = *rc::gen::arbitrary<bool>();
  const Mode mode = *rc::gen::elementOf(std::vector<Mode>(std::begin(kModes), std::end(kModes)));
  const std::vector<std::int64_t> sizes = random_sizes(n);
  manual_seed(5);
  const Net net;
  const Values alone = train_alone<Net>(nn::clone(net), algorithm, DType::f64, ignored);
  const Values parallel =
      train_parallel<Net>(nn::clone(net),
                          algorithm,
                          DType::f64,
                          ignored,
                          {.devices = devices(n), .mode = mode, .chunk_sizes = sizes});
  const double gap = difference(parallel, alone);
  RC_LOG() << name(mode) << " sizes " << ::testing::PrintToString(sizes) << " gap " << gap << '\n';
  RC_ASSERT(gap <= 1e-12);
}

RC_GTEST_PROP(ExactnessProperty, MlpInF64EqualsOneDevice, ()) {
  check_random_chunking<Mlp>();
}
RC_GTEST_PROP(ExactnessProperty, MlpWithBatchNormInF64EqualsOneDevice, ()) {
  check_random_chunking<NormMlp>();
}
RC_GTEST_PROP(ExactnessProperty, CnnInF64EqualsOneDevice, ()) {
  check_random_chunking<PlainCnn>();
}
RC_GTEST_PROP(ExactnessProperty, CnnWithBatchNormInF64EqualsOneDevice, ()) {
  check_random_chunking<Cnn>();
}

template <class Net>
class SinglePrecisionTest : public ::testing::Test {};
using Nets = ::testing::Types<Mlp, NormMlp, PlainCnn, Cnn>;
TYPED_TEST_SUITE(SinglePrecisionTest, Nets);

TYPED_TEST(SinglePrecisionTest, GradientsOfOneStepEqualOneDevice) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{10, 10, 9}, {1, 28, 0}, {0, 13, 16}}) {
    manual_seed(6);
    TypeParam alone(DType::f32);
    TypeParam net = nn::clone(alone);
    const Batch batch = make_batch(kTrainingRows, 3, DType::f32, true);
    cross_entropy(alone(batch.x), batch.labels).backward();
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    dp.step(batch, kLoss);
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-5)
        << ::testing::PrintToString(sizes);
  }
}

TYPED_TEST(SinglePrecisionTest, TwentyStepsEqualOneDevice) {
  manual_seed(6);
  const TypeParam net(DType::f32);
  for (const Algorithm algorithm : {Algorithm::sgd, Algorithm::adamw}) {
    const Values alone = train_alone(nn::clone(net), algorithm, DType::f32, false);
    const Values parallel = train_parallel(
        nn::clone(net), algorithm, DType::f32, false, {.devices = devices(3), .gpu0_bsz = 4});
    EXPECT_LE(difference(parallel, alone), 1e-4);
  }
}

TEST(ExactnessTest, GatheredOutputTrainsTheSame) {
  manual_seed(5);
  const Cnn net;
  const Values alone = train_alone(nn::clone(net), Algorithm::adamw, DType::f64, true);
  Cnn wrapped = nn::clone(net);
  const auto optimizer = make_optimizer(Algorithm::adamw, wrapped);
  DataParallel dp(wrapped,
                  {.devices = devices(3), .output_device = testing::device(2), .gpu0_bsz = 5});
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch = batch_of_step(step, DType::f64, true);
    optimizer->zero_grad();
    const Tensor y = dp(batch.x);
    EXPECT_EQ(y.device(), testing::device(2));
    cross_entropy(y, batch.labels.to(y.device())).backward();
    optimizer->step();
  }
  EXPECT_LE(difference(values_of(wrapped), alone), 1e-12);
}

TEST(ExactnessTest, MeanLossCountsByRows) {
  manual_seed(5);
  const Mlp net;
  const Values alone = train_alone(nn::clone(net), Algorithm::sgd, DType::f64, false);
  Mlp wrapped = nn::clone(net);
  const auto optimizer = make_optimizer(Algorithm::sgd, wrapped);
  DataParallel dp(wrapped, {.devices = devices(2), .gpu0_bsz = 3});
  for (int step = 0; step < kSteps; ++step) {
    dp.step(
        batch_of_step(step, DType::f64, false),
        [](Mlp& m, const Batch& b) { return cross_entropy(m(b.x), b.labels); },
        optimizer.get());
  }
  EXPECT_LE(difference(values_of(wrapped), alone), 1e-12);
}

TEST(ExactnessTest, PerReplicaBatchNormEqualsOneDeviceChunkByChunk) {
  const std::vector<std::int64_t> sizes{12, 17};
  manual_seed(5);
  NormMlp net(DType::f64, BatchNormSync::per_replica);
  NormMlp alone = nn::clone(net);
  NormMlp wrapped = nn::clone(net);
  optim::SGD own(alone.named_parameters(), {.lr = 0.05});
  optim::SGD optimizer(wrapped.named_parameters(), {.lr = 0.05});
  DataParallel dp(wrapped, {.devices = devices(2), .chunk_sizes = sizes});
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch =
        make_batch(kTrainingRows, 40 + static_cast<std::uint64_t>(step), DType::f64, false);
    own.zero_grad();
    std::vector<Tensor> outputs;
    for (const auto& [begin, length] : {std::pair<std::int64_t, std::int64_t>{0, 12}, {12, 17}}) {
      outputs.push_back(alone(batch.x.narrow(0, begin, length)));
    }
    cross_entropy(cat(outputs), batch.labels).backward();
    own.step();
    dp.step(batch, kLoss, &optimizer);
  }
  Values expected, got;
  for (const auto& [name, x] : alone.named_parameters())
    expected[name] = x.to_doubles();
  for (const auto& [name, x] : wrapped.named_parameters())
    got[name] = x.to_doubles();
  EXPECT_LE(difference(got, expected), 1e-12);
}

struct TwoDropouts : nn::Module {
  Tensor forward(const Tensor& x) { return dropout(x, 0.5) + dropout(x, 0.3); }
  TANDEM_MODULE(TwoDropouts)
};

TEST(ExactnessTest, DropoutMasksDoNotDependOnTheDevices) {
  const Tensor x = ones({31, 4}, {.dtype = DType::f64});
  std::vector<std::vector<double>> results;
  for (const int n : {1, 2, 3, 7}) {
    TwoDropouts net;
    DataParallel dp(net, {.devices = devices(n), .chunks = ChunkPolicy::gpu0(3)});
    manual_seed(11);
    dp(x);
    results.push_back(dp(x).to_doubles());  // the second forward: its position counts
  }
  TwoDropouts net;
  manual_seed(11);
  net(x);
  results.push_back(net(x).to_doubles());
  for (const auto& r : results)
    EXPECT_EQ(r, results[0]);
  manual_seed(11);
  EXPECT_NE(net(x).to_doubles(), results[0]) << "another forward has other masks";
}

}  // namespace
}  // namespace tandem::parallel::test
