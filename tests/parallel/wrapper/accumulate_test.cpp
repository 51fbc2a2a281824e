// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/compare.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "parallel/nets.hpp"

// A step in micro-batches is the step of the whole batch.
namespace tandem::parallel::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kShortRows =
    7;  // of a shorter last batch: some micro-batch leaves a device without rows

/// Two masks in a forward, one of them over tokens: more rows than the batch's.
struct DropNet : nn::Module {
  nn::Linear hidden{12, 16, {.dtype = DType::f64}};
  nn::Dropout drop{0.4};
  nn::Linear head{16, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor y = drop(tanh(hidden(x.flatten(1))));
    return head(drop(y.reshape({-1, 4})).reshape({-1, 16}));
  }
  TANDEM_MODULE(DropNet, hidden, drop, head)
};

Batch batch_of_step(int step, bool ignored) {
  const std::int64_t rows = step % 5 == 4 ? kShortRows : kTrainingRows;
  return make_batch(rows, 100 + static_cast<std::uint64_t>(step), DType::f64, ignored);
}

template <class Net>
Values train(Net net, const DataParallelOptions& options, bool ignored = true) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, options);
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch = batch_of_step(step, ignored);
    manual_seed(static_cast<std::uint64_t>(step));
    dp.step(batch, kLoss, &optimizer);
  }
  return values_of(net);
}

/// One device, whole batches, a plain loop.
template <class Net>
Values train_alone(Net net) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < kSteps; ++step) {
    const Batch batch = batch_of_step(step, true);
    manual_seed(static_cast<std::uint64_t>(step));
    optimizer.zero_grad();
    cross_entropy(net(batch.x), batch.labels).backward();
    optimizer.step();
  }
  return values_of(net);
}

template <class Net>
void check_against_one_device() {
  const int n = *rc::gen::suchThat(rc::gen::element(1, 2, 3, 4),
                                   [](int i) { return i <= testing::device_limit(); });
  const auto accumulate = *rc::gen::inRange<std::int64_t>(2, 10);
  std::vector<std::int64_t> sizes;
  std::int64_t left = kTrainingRows;
  for (int i = 0; i + 1 < n; ++i) {
    sizes.push_back(*rc::gen::inRange<std::int64_t>(0, left + 1));
    left -= sizes.back();
  }
  sizes.push_back(left);
  manual_seed(5);
  const Net net;
  const double gap =
      difference(train(nn::clone(net),
                       {.devices = devices(n), .chunk_sizes = sizes, .accumulate = accumulate}),
                 train_alone(nn::clone(net)));
  RC_LOG() << "sizes " << ::testing::PrintToString(sizes) << " gap " << gap << '\n';
  RC_ASSERT(gap <= 1e-12);
}

RC_GTEST_PROP(AccumulateProperty, MlpEqualsOneDeviceAndTheWholeBatch, ()) {
  check_against_one_device<Mlp>();
}
RC_GTEST_PROP(AccumulateProperty, DropoutEqualsOneDeviceAndTheWholeBatch, ()) {
  check_against_one_device<DropNet>();
}

/// Batch norm sees one micro-batch after the other: the oracle does the same by hand.
void step_in_parts(NormMlp& net,
                   optim::Optimizer& optimizer,
                   const Batch& batch,
                   std::int64_t parts) {
  const std::int64_t rows = batch.x.size(0);
  const double weight = sum(ne(batch.labels, -100.0)).item();
  optimizer.zero_grad();
  std::int64_t begin = 0;
  for (std::int64_t k = 0; k < parts; ++k) {
    const std::int64_t n = rows / parts + (k < rows % parts ? 1 : 0);
    const WeightedSum loss =
        cross_entropy_sum(net(batch.x.narrow(0, begin, n)), batch.labels.narrow(0, begin, n));
    (loss.sum / weight).backward();
    begin += n;
  }
  optimizer.step();
}

Values train_in_parts(NormMlp net, std::int64_t parts) {
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01});
  for (int step = 0; step < kSteps; ++step)
    step_in_parts(net, optimizer, batch_of_step(step, true), parts);
  return values_of(net);
}

TEST(AccumulateTest, CnnEqualsOneDeviceAndTheWholeBatch) {
  manual_seed(5);
  const PlainCnn net;
  const DataParallelOptions options{.devices = devices(3), .gpu0_bsz = 4, .accumulate = 3};
  EXPECT_LE(difference(train(nn::clone(net), options), train_alone(nn::clone(net))), 1e-12);
}

TEST(AccumulateTest, BatchNormDoesNotDependOnTheDevices) {
  manual_seed(5);
  const NormMlp net;
  for (const std::int64_t accumulate : {2, 3}) {
    const Values alone = train_in_parts(nn::clone(net), accumulate);
    EXPECT_EQ(alone.at("norm.num_batches_tracked").front(), kSteps * accumulate);
    for (const int n : {1, 2, 3}) {
      const DataParallelOptions options{
          .devices = devices(n), .gpu0_bsz = 4, .accumulate = accumulate};
      EXPECT_LE(difference(train(nn::clone(net), options), alone), 1e-12)
          << n << " devices, " << accumulate << " micro-batches";
    }
  }
}

TEST(AccumulateTest, BatchNormWithDevicesThatHaveNoRowsOfAMicroBatch) {
  manual_seed(5);
  const NormMlp net;
  const Batch batch = make_batch(kShortRows, 3, DType::f64, false);
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{1, 6, 0}, {6, 1, 0}, {1, 1, 5}, {2, 2, 3}, {0, 1, 6}}) {
    NormMlp alone = nn::clone(net);
    optim::AdamW own(alone.named_parameters());
    step_in_parts(alone, own, batch, 3);
    for (const Mode mode : kModes) {
      NormMlp wrapped = nn::clone(net);
      optim::AdamW optimizer(wrapped.named_parameters());
      DataParallel dp(wrapped,
                      {.devices = devices(3), .mode = mode, .chunk_sizes = sizes, .accumulate = 3});
      dp.step(batch, kLoss, &optimizer);
      EXPECT_LE(difference(values_of(wrapped), values_of(alone)), 1e-12)
          << ::testing::PrintToString(sizes) << ", " << name(mode);
    }
  }
}

TEST(AccumulateTest, DeviceZeroWithoutRowsFollows) {
  manual_seed(5);
  const NormMlp net;
  const Values alone = train_in_parts(nn::clone(net), 2);
  const DataParallelOptions options{.devices = devices(3), .gpu0_bsz = 0, .accumulate = 2};
  EXPECT_LE(difference(train(nn::clone(net), options), alone), 1e-12);
}

TEST(AccumulateTest, RowsLossAndWeightAreTheWholeBatchs) {
  manual_seed(5);
  Mlp net;
  Mlp whole = nn::clone(net);
  const Batch batch = make_batch(kTrainingRows, 3, DType::f64, true);
  DataParallel once(whole, {.devices = devices(3), .gpu0_bsz = 4});
  DataParallel dp(net, {.devices = devices(3), .gpu0_bsz = 4, .accumulate = 5});
  const StepResult expected = once.step(batch, kLoss), got = dp.step(batch, kLoss);
  EXPECT_EQ(got.rows, expected.rows);
  EXPECT_EQ(got.weight, expected.weight);
  EXPECT_NEAR(got.loss, expected.loss, 1e-14);
}

TEST(AccumulateTest, GradientsAreAddedToEarlierOnes) {
  for (const Mode mode : kModes) {
    manual_seed(5);
    Mlp net;
    Mlp whole = nn::clone(net);
    DataParallel once(whole, {.devices = devices(2), .mode = mode});
    DataParallel dp(net, {.devices = devices(2), .mode = mode, .accumulate = 3});
    for (const std::uint64_t seed : {3U, 4U}) {
      const Batch batch = make_batch(kTrainingRows, seed, DType::f64, true);
      once.step(batch, kLoss);
      dp.step(batch, kLoss);
    }
    EXPECT_LE(difference(gradients_of(net), gradients_of(whole)), 1e-14) << name(mode);
  }
}

/// Uses a layer in micro-batches whose first row is marked.
struct Sometimes : nn::Module {
  nn::Linear always{12, 5, {.dtype = DType::f64}};
  nn::Linear marked{12, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor flat = x.flatten(1);
    const Tensor y = always(flat);
    return flat.select(0, 0).select(0, 0).item() > 50 ? y + marked(flat) : y;
  }
  TANDEM_MODULE(Sometimes, always, marked)
};

TEST(AccumulateTest, GradientsThatTheLastMicroBatchDoesNotMakeCount) {
  manual_seed(5);
  Sometimes net;
  Sometimes alone = nn::clone(net);
  Batch batch = make_batch(8, 3, DType::f64, false);
  batch.x.narrow(0, 2, 1).fill_(99);  // device 1's row of the first micro-batch
  DataParallel dp(net, {.devices = devices(2), .accumulate = 2});
  dp.step(batch, kLoss);
  const auto part = [&](std::int64_t begin) {
    return cross_entropy_sum(alone(batch.x.narrow(0, begin, 2)), batch.labels.narrow(0, begin, 2));
  };
  for (const std::int64_t begin : {0, 2, 4, 6})
    (part(begin).sum / 8.0).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-14);
}

/// Bytes that went between devices as gradients or for their reduction, and forwards before them.
struct Traffic final : Observer {
  void on_copy(const CopyEvent& e) noexcept override {
    if (e.phase != Phase::reduce) return;
    nbytes += e.nbytes;
    if (forwards < 2 * 4) early = true;
  }
  std::atomic<std::size_t> nbytes{0};
  std::atomic<int> forwards{0};
  std::atomic<bool> early{false};
};

TEST(AccumulateTest, NothingIsReducedBeforeTheLastMicroBatch) {
  std::vector<std::size_t> nbytes;
  for (const std::int64_t accumulate : {1, 4}) {
    manual_seed(5);
    Mlp net;
    DataParallel dp(net, {.devices = devices(2), .accumulate = accumulate});
    Traffic traffic;
    const Subscription seen(traffic);
    dp.step(make_batch(kTrainingRows, 3, DType::f64, true), [&](Mlp& m, const Batch& b) {
      ++traffic.forwards;
      return kLoss(m, b);
    });
    nbytes.push_back(traffic.nbytes);
    EXPECT_EQ(traffic.forwards, 2 * accumulate);
    EXPECT_EQ(traffic.early.load(), accumulate == 1) << "the test's own count";
  }
  EXPECT_GT(nbytes[0], 0U);
  EXPECT_EQ(nbytes[0], nbytes[1]);
}

TEST(AccumulateTest, ActivationsTakeTheMemoryOfOneMicroBatch) {
  const Batch batch = make_batch(512, 2, DType::f64, false);
  std::vector<std::size_t> activations;
  for (const std::int64_t accumulate : {1, 4}) {
    Mlp net;
    DataParallel dp(net, {.devices = devices(2), .accumulate = accumulate});
    dp.step(batch, kLoss);
    LogicalDevice& device = logical_device(testing::device(1));
    device.reset_peak();
    dp.step(batch, kLoss);
    const MemoryStats stats = device.memory_stats();
    activations.push_back(stats.peak_by_category[static_cast<std::size_t>(Category::activation)]);
  }
  EXPECT_GE(activations[0], 256U * 16 * 8);
  EXPECT_LT(activations[1], activations[0] / 3);
}

TEST(AccumulateTest, AFailureInALaterMicroBatchHasNoEffect) {
  manual_seed(5);
  NormMlp net;
  NormMlp twin = nn::clone(net);
  const DataParallelOptions options{.devices = devices(3), .gpu0_bsz = 4, .accumulate = 3};
  optim::AdamW optimizer(net.named_parameters(), {.lr = 0.01}),
      own(twin.named_parameters(), {.lr = 0.01});
  DataParallel dp(net, options), other(twin, options);
  const Batch batch = make_batch(kTrainingRows, 2, DType::f64, false);
  dp.step(batch, kLoss, &optimizer);
  other.step(batch, kLoss, &own);
  const Values before = values_of(net);
  for (const int failing : {0, 1, 2}) {
    std::array<std::atomic<int>, 3> calls{};
    try {
      dp.step(
          batch,
          [&](NormMlp& m, const Batch& b) {
            const int replica = context().replica;
            const int call = ++calls[static_cast<std::size_t>(replica)];
            WeightedSum loss = kLoss(m, b);
            TANDEM_CHECK(replica != failing || call < 2, "the second one fails");
            return loss;
          },
          &optimizer);
      ADD_FAILURE() << "nothing was thrown";
    } catch (const ReplicaError& e) {
      EXPECT_EQ(e.replica, failing) << e.what();
      // The rows of the micro-batch that failed: the second of 10, 10 and 9 rows.
      EXPECT_GE(e.rows.begin, 10);
      EXPECT_LE(e.rows.end, 20);
    }
    EXPECT_EQ(values_of(net), before) << failing;
  }
  dp.step(batch, kLoss, &optimizer);
  other.step(batch, kLoss, &own);
  EXPECT_EQ(values_of(net), values_of(twin));
}

TEST(AccumulateTest, LessThanOneMicroBatchIsRefused) {
  Mlp net;
  EXPECT_THAT([&] { DataParallel dp(net, {.devices = devices(1), .accumulate = 0}); },
              ThrowsMessage<InvalidArgument>(
                  AllOf(HasSubstr("accumulate is 0"), HasSubstr("one micro-batch or more"))));
}

}  // namespace
}  // namespace tandem::parallel::test
