// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/data_parallel.hpp"

#include <mutex>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/observer.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// Bytes copied between devices, by (source, destination), of one phase.
class CopyCounter : public Observer {
 public:
  explicit CopyCounter(Phase phase) : phase_(phase) {}
  void on_copy(const CopyEvent& e) noexcept override {
    if (e.phase != phase_) return;
    const std::scoped_lock lock(mutex_);
    bytes_[{e.source.index, e.destination.index}] += e.nbytes;
  }
  std::map<std::pair<int, int>, std::size_t> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(bytes_, {});
  }

 private:
  Phase phase_;
  std::mutex mutex_;
  std::map<std::pair<int, int>, std::size_t> bytes_;
};

std::size_t in_use(int device, Category category) {
  return logical_device(testing::device(device))
      .memory_stats()
      .by_category[static_cast<std::size_t>(category)];
}

TEST(DataParallelTest, StandsInPlaceOfTheModule) {
  manual_seed(1);
  Mlp net;
  const Tensor x = randn({7, 3, 2, 2}, {.dtype = DType::f64});
  const auto expected = net(x).to_doubles();
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor y = dp(x);
  EXPECT_EQ(y.shape(), (Shape{7, 5}));
  EXPECT_EQ(y.device(), devices(1)[0]);
  EXPECT_THAT(y.to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-14), expected));
}

TEST(DataParallelTest, RowsAreThoseOfThePolicy) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3), .gpu0_bsz = 16});
  const auto rows = dp.plan(53);
  EXPECT_THAT(rows, ElementsAre(RowRange{0, 16}, RowRange{16, 35}, RowRange{35, 53}));
  const Batch batch = make_batch(53, 1, DType::f64, false);
  const auto result = dp.step(batch, kLoss);
  EXPECT_THAT(result.rows, ElementsAre(16, 19, 18));
  EXPECT_EQ(result.weight, 53);
  EXPECT_NEAR(result.loss, cross_entropy(net(batch.x), batch.labels).item(), 1e-14);
}

TEST(DataParallelTest, WorkOfADeviceRunsOnItsThread) {
  for (const Mode mode : kModes) {
    Mlp net;
    DataParallel dp(net, {.devices = devices(2), .mode = mode});
    dp.step(make_batch(8, 1, DType::f64, false), [&](Mlp& replica, const Batch& part) {
      EXPECT_TRUE(logical_device(part.x.device()).worker().is_current()) << name(mode);
      return kLoss(replica, part);
    });
  }
}

TEST(DataParallelTest, NothingIsAliased) {
  Mlp net;
  const std::size_t before = in_use(1, Category::parameter);
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(make_batch(8, 1, DType::f64, false), kLoss);
  const std::size_t p = dp.parameter_nbytes();
  EXPECT_GT(p, 0u);
  EXPECT_EQ(in_use(1, Category::parameter) - before, p);
  const auto own = values_of(net);
  {
    const autograd::NoGrad off;
    for (Tensor x : dp.replica(1).parameters())
      x.fill_(1e6);
  }
  EXPECT_EQ(values_of(net), own);
}

TEST(DataParallelTest, ParametersGoOutOncePerUpdate) {
  Mlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  DataParallel dp(net, {.devices = devices(3), .mode = Mode::server});
  CopyCounter counter(Phase::replicate);
  const Subscription subscription(counter);
  const std::size_t p = dp.parameter_nbytes();
  const Batch batch = make_batch(9, 1, DType::f64, false);
  dp(batch.x);
  EXPECT_THAT(counter.take(),
              UnorderedElementsAre(Pair(std::pair(0, 1), p), Pair(std::pair(0, 2), p)));
  dp(batch.x);
  EXPECT_TRUE(counter.take().empty()) << "nothing has changed";
  dp.step(batch, kLoss, &optimizer);
  EXPECT_TRUE(counter.take().empty()) << "the update comes after";
  dp(batch.x);
  EXPECT_THAT(counter.take(),
              UnorderedElementsAre(Pair(std::pair(0, 1), p), Pair(std::pair(0, 2), p)));
}

TEST(DataParallelTest, GradientsAddUpOverStepsWithoutUpdate) {
  for (const Mode mode : kModes) {
    manual_seed(2);
    Mlp net;
    Mlp alone = nn::clone(net);
    DataParallel dp(net, {.devices = devices(2), .mode = mode});
    for (const std::uint64_t seed : {1u, 2u}) {
      const Batch batch = make_batch(6, seed, DType::f64, false);
      cross_entropy(alone(batch.x), batch.labels).backward();
      dp.step(batch, kLoss);
    }
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12) << name(mode);
  }
}

TEST(DataParallelTest, FewerRowsThanDevicesAndOneDevice) {
  manual_seed(3);
  Mlp net;
  const Batch batch = make_batch(2, 1, DType::f64, false);
  const auto expected = net(batch.x).to_doubles();
  for (const int n : {1, 2, 7}) {
    Mlp wrapped = nn::clone(net);
    DataParallel dp(wrapped, {.devices = devices(n)});
    EXPECT_THAT(dp(batch.x).to_doubles(),
                ::testing::Pointwise(::testing::DoubleNear(1e-14), expected))
        << n;
    EXPECT_EQ(dp.step(batch, kLoss).weight, 2) << n;
  }
}

TEST(DataParallelTest, EvaluationLeavesBuffersAndTrainingMovesThem) {
  Cnn net;
  DataParallel dp(net, {.devices = devices(3), .gpu0_bsz = 0});
  const Batch batch = make_batch(9, 1, DType::f64, false);
  const auto before = values_of(net);
  dp.eval();
  dp(batch.x);
  EXPECT_EQ(values_of(net), before);
  dp.train();
  dp(batch.x);
  const auto after = values_of(net);
  EXPECT_NE(after.at("norm1.running_mean"), before.at("norm1.running_mean"));
  EXPECT_THAT(after.at("norm1.num_batches_tracked"), ElementsAre(1));
}

struct TwoInputs : nn::Module {
  nn::Linear a{4, 3, {.dtype = DType::f64}};
  struct Out {
    Tensor product;
    Tensor mean;
    int parts;
    TANDEM_FIELDS(product, mean, parts)
  };
  Out forward(const Tensor& x, const Tensor& table, const Tensor& mask) {
    return {a(x).matmul(table) * mask.transpose(0, 1), mean(x), 2};
  }
  TANDEM_MODULE(TwoInputs, a)
};

TEST(DataParallelTest, ArgumentsHaveTheirOwnSchema) {
  manual_seed(4);
  TwoInputs net;
  const TensorOptions f64{.dtype = DType::f64};
  const Tensor x = randn({6, 4}, f64), table = randn({3, 2}, f64), mask = randn({2, 6}, f64);
  const auto expected = net(x, table, mask);
  DataParallel dp(net, {.devices = devices(2), .gpu0_bsz = 2});
  const auto got = dp(x, replicate(table), split(mask, 1));
  EXPECT_THAT(got.product.to_doubles(),
              ::testing::Pointwise(::testing::DoubleNear(1e-13), expected.product.to_doubles()));
  EXPECT_EQ(got.mean.shape(), (Shape{2})) << "a scalar from each replica: stacked";
  EXPECT_EQ(got.parts, 2);
  EXPECT_THAT(thrown_text<Error>([&] { dp(x, table, split(mask, 1)); }), HasSubstr("argument 1"));
}

TEST(DataParallelTest, BadCallsSayWhatIsWrong) {
  Mlp net;
  EXPECT_THAT(thrown_text<Error>([&] {
                DataParallel(net, {.devices = devices(2), .chunk_sizes = {1, 2, 3}});
              }),
              HasSubstr("3 sizes for 2 devices"));
  EXPECT_THAT(thrown_text<Error>([&] {
                DataParallel(net, {.devices = devices(2), .chunk_sizes = {1, 2}, .gpu0_bsz = 1});
              }),
              HasSubstr("one of chunks, chunk_sizes and gpu0_bsz"));
  EXPECT_THAT(thrown_text<Error>([&] {
                DataParallel(net, {.devices = {devices(2)[1], devices(2)[0]}});
              }),
              HasSubstr("'hidden.weight' is on " + testing::device_name(0) +
                        ", but the first device is " + testing::device_name(1)));
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_THAT(thrown_text<Error>([&] { dp.step(make_batch(0, 1, DType::f64, false), kLoss); }),
              HasSubstr("no rows"));
  Batch uneven = make_batch(4, 1, DType::f64, false);
  uneven.labels = uneven.labels.narrow(0, 0, 3);
  EXPECT_THAT(thrown_text<Error>([&] { dp.step(uneven, kLoss); }), HasSubstr("has 3 rows"));
}

/// Two backwards through one forward; the gradients of the parameters and of x.
template <class Forward>
Values backward_twice(nn::Module& net, Forward forward) {
  manual_seed(4);
  Tensor x = randn({7, 3, 2, 2}, {.dtype = DType::f64}).requires_grad_();
  const Tensor y = forward(x);
  autograd::backward({sum(y)}, {}, {.retain_graph = true});
  sum(y * y).backward();
  Values values = gradients_of(net);
  values["x"] = x.grad().to_doubles();
  return values;
}

TEST(DataParallelTest, NoReplicaGoesBackBeforeAllHaveTheGradientsOfTheirOutputs) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3)});
  const Batch batch = make_batch(2400, 1, DType::f64, false);
  const Tensor loss = cross_entropy(dp(batch.x), batch.labels);
  const profile::StepRecord record = profile::record([&] { loss.backward(); });
  profile::Duration fetched{}, first = record.duration;
  for (const profile::Transfer& moved : record.transfers)
    if (moved.category == Category::output_gradient) fetched = std::max(fetched, moved.queued_end);
  for (const profile::WorkSpan& w : record.work)
    if (w.in_replica() && w.phase == Phase::backward && w.module_path != nullptr)
      first = std::min(first, w.queued_begin);
  EXPECT_GT(fetched, profile::Duration{});
  EXPECT_LE(fetched, first) << "queued later, a GPU's copies would wait for its own backward";
}

TEST(DataParallelTest, RetainedGraphTakesASecondBackward) {
  for (const std::vector<std::int64_t>& sizes :
       {std::vector<std::int64_t>{3, 2, 2}, {0, 4, 3}, {7, 0, 0}}) {
    manual_seed(1);
    Cnn alone;
    Cnn net = nn::clone(alone);
    DataParallel dp(net, {.devices = devices(3), .chunk_sizes = sizes});
    const Values expected = backward_twice(alone, [&](const Tensor& x) { return alone(x); });
    const Values got = backward_twice(net, [&](const Tensor& x) { return dp(x); });
    EXPECT_LE(difference(got, expected), 1e-12) << ::testing::PrintToString(sizes);
  }
}

TEST(DataParallelTest, ASecondBackwardWithoutARetainedGraphIsRefused) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(2)});
  const Tensor y = dp(make_batch(4, 1, DType::f64, false).x);
  autograd::backward({sum(y)}, {}, {.retain_graph = true});
  sum(y).backward();
  const Values gradients = gradients_of(net);
  EXPECT_THAT(thrown_text<Error>([&] { sum(y).backward(); }), HasSubstr("pass retain_graph"));
  EXPECT_EQ(gradients_of(net), gradients);
}

TEST(DataParallelTest, AutocastReachesTheReplicas) {
  const auto train = [](int count) {
    manual_seed(3);
    Mlp net(DType::f32);
    optim::SGD sgd(net.named_parameters(), {.lr = 0.1});
    DataParallel dp(net, {.devices = devices(count)});
    const Autocast mixed(DType::bf16);
    const std::vector<Tensor> batch{randn({12, 3, 2, 2}), randint(0, 5, {12})};
    dp.step(
        batch,
        [](Mlp& m, const std::vector<Tensor>& part) {
          const Tensor y = m(part[0]);
          EXPECT_EQ(y.dtype(), DType::bf16);
          return cross_entropy_sum(y, part[1]);
        },
        &sgd);
    EXPECT_EQ(net.hidden.weight.dtype(), DType::f32);
    return net.hidden.weight.to_doubles();
  };
  const std::vector<double> one = train(1), three = train(3);
  ASSERT_EQ(one.size(), three.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(three[i], one[i], 1e-3) << i;  // a step of 0.1 times gradients of 8 bits
}

}  // namespace
}  // namespace tandem::parallel::test
