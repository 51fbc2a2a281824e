// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <mutex>
#include <optional>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/checkpoint.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/parallel/scatter_gather.hpp"
#include "tandem/runtime/observer.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// What dp(...) returns. One device is the oracle, or a serial sum.
namespace tandem::parallel::test {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;

/// dp(x) on `output` against the module, with the gradients of parameters and
/// input.
void expect_equal_on(Device output, const std::vector<std::int64_t>& sizes, int dim) {
  manual_seed(1);
  nn::Linear alone(3, 3, {.dtype = DType::f64});
  nn::Linear net = nn::clone(alone);
  const Tensor x = randn(dim == 0 ? Shape{5, 2, 3} : Shape{2, 5, 3}, f64()).requires_grad_();
  const Tensor same = x.detach().clone().requires_grad_();
  const Tensor weight = randn(x.shape(), f64());
  const Tensor expected = alone(same);
  sum(expected * weight).backward();
  DataParallel dp(
      net, {.devices = devices(3), .output_device = output, .dim = dim, .chunk_sizes = sizes});
  const Tensor y = dp(x);
  EXPECT_EQ(y.device(), output);
  EXPECT_THAT(y.to_doubles(), near(expected));
  sum(y * weight.to(output)).backward();
  EXPECT_EQ(x.grad().device(), x.device());
  EXPECT_THAT(x.grad().to_doubles(), near(same.grad()));
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

TEST(OutputsTest, AreGatheredOnAnyDevice) {
  for (int device = 0; device < 4; ++device) {  // the last one is none of the wrapper's
    for (const auto& sizes : kChunks) {
      for (const int dim : {0, 1, -2}) {
        SCOPED_TRACE(::testing::PrintToString(sizes) + " along " + std::to_string(dim));
        expect_equal_on(testing::device(device), sizes, dim);
      }
    }
  }
}

TEST(OutputsTest, AreGatheredOnTheHost) {
  const Device host{DeviceType::cpu, 0};
  for (const auto& sizes : kChunks)
    expect_equal_on(host, sizes, 0);
}

TEST(OutputsTest, OneDeviceGathersElsewhereToo) {
  nn::Linear net(3, 2, {.dtype = DType::f64});
  const Tensor x = randn({4, 3}, f64());
  DataParallel dp(net, {.devices = devices(1), .output_device = testing::device(1)});
  const Tensor y = dp(x);
  EXPECT_EQ(y.device(), testing::device(1));
  EXPECT_THAT(y.to_doubles(), near(net(x)));
}

/// Its output is on one device, whichever the replica is on.
struct Elsewhere : nn::Module {
  nn::Linear body{3, 2, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return tanh(body(x)).to(testing::device(0)); }
  TANDEM_MODULE(Elsewhere, body)
};

TEST(OutputsTest, ReplicasMayMoveThemThemselves) {
  Elsewhere alone, net = nn::clone(alone);
  const Tensor x = randn({7, 3}, f64());
  sum(square(alone(x))).backward();
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor y = dp(x);
  EXPECT_THAT(y.to_doubles(), near(alone(x)));
  sum(square(y)).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

/// A scalar for each replica: the mean of its rows.
struct MeanNet : nn::Module {
  nn::Linear body{2, 1, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return mean(square(body(x))); }
  TANDEM_MODULE(MeanNet, body)
};

/// What should come of the means of each chunk.
Tensor combine_alone(
    MeanNet& net, const Tensor& x, Combine how, int dim, const std::vector<std::int64_t>& sizes) {
  std::vector<Tensor> means;
  std::int64_t begin = 0;
  double parts = 0;
  for (const std::int64_t n : sizes)
    parts += n > 0 ? 1 : 0;
  for (const std::int64_t n : sizes) {
    if (n == 0) continue;
    const double weight = how == Combine::mean            ? 1 / parts
                          : how == Combine::weighted_mean ? static_cast<double>(n) / 5
                                                          : 1;
    means.push_back(net(x.narrow(dim, begin, n)) * weight);
    begin += n;
  }
  const Tensor all = stack(means);
  return how == Combine::stack ? all : sum(all);
}

TEST(OutputsTest, ScalarsAreCombinedAsAsked) {
  for (const Combine how : {Combine::stack, Combine::mean, Combine::weighted_mean, Combine::sum}) {
    for (const auto& sizes : kChunks) {
      for (const int dim : {0, 1}) {
        SCOPED_TRACE(::testing::PrintToString(sizes) + " along " + std::to_string(dim) +
                     ", combine " + std::to_string(static_cast<int>(how)));
        manual_seed(2);
        MeanNet alone;
        MeanNet net = nn::clone(alone);
        const Tensor x = randn(dim == 0 ? Shape{5, 2, 2} : Shape{2, 5, 2}, f64());
        const Tensor own = x.clone().requires_grad_(), same = x.clone().requires_grad_();
        const Tensor expected = combine_alone(alone, same, how, dim, sizes);
        sum(square(expected)).backward();
        DataParallel dp(net,
                        {.devices = devices(3), .dim = dim, .scalars = how, .chunk_sizes = sizes});
        const Tensor y = dp(own);
        EXPECT_EQ(y.shape(), expected.shape());
        EXPECT_THAT(y.to_doubles(), near(expected));
        sum(square(y)).backward();
        EXPECT_THAT(own.grad().to_doubles(), near(same.grad()));
        EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
      }
    }
  }
}

TEST(OutputsTest, AWeightedMeanOfMeansIsTheWholeBatchs) {
  MeanNet net;
  const Tensor x = randn({5, 2}, f64());
  DataParallel dp(net, {.devices = devices(3), .scalars = Combine::weighted_mean, .gpu0_bsz = 1});
  EXPECT_NEAR(dp(x).item(), net(x).item(), 1e-14);
}

struct Report {
  Tensor y;
  Split<Tensor> columns;                     // rows in dimension 1
  Combined<Tensor, Combine::sum> count;      // of each class
  Combined<Tensor, Combine::stack> largest;  // one line for each replica
  Combined<std::int64_t, Combine::sum> rows;
  Combined<double, Combine::weighted_mean> mean;
  Combined<double, Combine::mean> plain;
  std::string name;
  std::optional<Tensor> none = {};
  Tensor undefined = {};
  TANDEM_FIELDS(y, columns, count, largest, rows, mean, plain, name, none, undefined)
};

struct ReportNet : nn::Module {
  nn::Linear body{3, 3, {.dtype = DType::f64}};
  Report forward(const Tensor& x) {
    const Tensor y = body(x);
    const std::int64_t n = x.size(0);
    const double value = mean(x).detach().item();
    return {.y = y,
            .columns = split(y.t(), 1),
            .count = {sum(x, {0})},
            .largest = {sum(y, {0}) * 2.0},
            .rows = {n},
            .mean = {value},
            .plain = {value},
            .name = "report"};
  }
  TANDEM_MODULE(ReportNet, body)
};

TEST(OutputsTest, FieldsAreJoinedEachInItsWay) {
  manual_seed(3);
  ReportNet alone;
  ReportNet net = nn::clone(alone);
  const Tensor x = randn({5, 3}, f64());
  const Report expected = alone(x);
  const double first = mean(x.narrow(0, 0, 1)).item(), second = mean(x.narrow(0, 1, 4)).item();
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {1, 0, 4}});
  const Report got = dp(x);
  EXPECT_THAT(got.y.to_doubles(), near(expected.y));
  EXPECT_EQ(got.columns.value.shape(), (Shape{3, 5}));
  EXPECT_THAT(got.columns.value.to_doubles(), near(expected.columns.value));
  EXPECT_EQ(got.count.value.shape(), (Shape{3}));
  EXPECT_THAT(got.count.value.to_doubles(), near(expected.count.value));
  EXPECT_EQ(got.largest.value.shape(), (Shape{2, 3}));
  EXPECT_EQ(got.rows.value, 5);
  EXPECT_NEAR(got.mean.value, expected.mean.value, 1e-14);
  EXPECT_NEAR(got.plain.value, (first + second) / 2, 1e-14);
  EXPECT_EQ(got.name, "report");
  EXPECT_FALSE(got.none.has_value() || got.undefined.defined());
  // The lines of `largest` add up to what one device has.
  sum(got.columns.value * 3.0 + got.y.t()).backward();
  sum(expected.columns.value * 3.0 + expected.y.t()).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

struct RowsOf : nn::Module {
  std::int64_t forward(const Tensor& x) { return x.size(0); }
  TANDEM_MODULE(RowsOf)
};

TEST(OutputsTest, ANumberThatDiffersIsRefused) {
  RowsOf net;
  DataParallel dp(net, {.devices = devices(2)});
  EXPECT_EQ(dp(ones({4})), 2);
  EXPECT_THAT(thrown_text([&] { dp(ones({5})); }), HasSubstr("'2' in part 1 and '3' in part 0"));
}

TEST(OutputsTest, BadCombinationsSayWhatIsWrong) {
  const std::vector<Tensor> counts{scalar(1, {.dtype = DType::i64}),
                                   scalar(2, {.dtype = DType::i64})};
  const std::span<const Tensor> parts(counts);
  const Device here = devices(1)[0];
  EXPECT_EQ(gather(parts, here, {.scalars = Combine::sum}).item(), 3);
  EXPECT_THAT(thrown_text([&] { gather(parts, here, {.scalars = Combine::mean}); }),
              HasSubstr("a mean needs floats, got i64 ()"));
  const std::vector<Tensor> floats{scalar(1), scalar(4)};
  EXPECT_THAT(thrown_text([&] {
                gather(std::span<const Tensor>(floats), here, {.scalars = Combine::weighted_mean});
              }),
              HasSubstr("needs the rows of each, but 0 were given"));
  EXPECT_EQ(gather(std::span<const Tensor>(floats),
                   here,
                   {.scalars = Combine::weighted_mean, .rows = {1, 2}})
                .item(),
            3);
}

/// Bytes copied between devices.
class CopiedBytes : public Observer {
 public:
  void on_copy(const CopyEvent& e) noexcept override {
    const std::scoped_lock lock(mutex_);
    if (e.source != e.destination) nbytes_ += e.nbytes;
  }
  std::size_t take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(nbytes_, 0);
  }

 private:
  std::mutex mutex_;
  std::size_t nbytes_ = 0;
};

TEST(DistributedTest, OutputsStayWhereTheyWereMade) {
  nn::Linear net(3, 7, {.dtype = DType::f64});
  const autograd::NoGrad off;
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {1, 0, 4}});
  const Tensor x = randn({5, 3}, f64());
  dp(x);
  CopiedBytes copied;
  const Subscription subscription(copied);
  const auto y = dp.distributed(x);
  EXPECT_EQ(copied.take(), 4 * 3 * sizeof(double)) << "the rows of device 2";
  EXPECT_EQ(y.rows(), 5);
  ASSERT_EQ(y.parts().size(), 2u);
  EXPECT_EQ(y.parts()[1].replica.index, 2);
  EXPECT_EQ(y.parts()[1].replica.rows, (RowRange{1, 5}));
  EXPECT_EQ(y.parts()[1].value.device(), testing::device(2));
  EXPECT_EQ(y.parts()[1].value.shape(), (Shape{4, 7}));
  EXPECT_EQ(copied.take(), 0u);
  EXPECT_THAT(y.gather().to_doubles(), near(net(x)));
  EXPECT_EQ(copied.take(), 4 * 7 * sizeof(double));
  EXPECT_EQ(y.gather(testing::device(1)).device(), testing::device(1));
}

void expect_backward_through_parts(Mode mode, const std::vector<std::int64_t>& sizes) {
  manual_seed(4);
  Mlp alone;
  Mlp net = nn::clone(alone);
  const Tensor x = randn({5, 3, 2, 2}, f64());
  const Tensor own = x.clone().requires_grad_(), same = x.clone().requires_grad_();
  const Tensor loss = sum(square(alone(same)));
  const Tensor expected = loss * loss;
  expected.backward();
  DataParallel dp(net, {.devices = devices(3), .mode = mode, .chunk_sizes = sizes});
  const auto squares = dp.distributed(own).map([](const Tensor& y) { return sum(square(y)); });
  for (const auto& part : squares.parts())
    EXPECT_EQ(part.value.device(), part.replica.device);
  const Tensor total = squares.reduce(Combine::sum);
  EXPECT_EQ(total.ndim(), 0);
  const Tensor got = total * total;
  EXPECT_NEAR(got.item(), expected.item(), 1e-9);
  got.backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
  EXPECT_THAT(own.grad().to_doubles(), near(same.grad()));
}

TEST(DistributedTest, BackwardGoesThroughWhatWasMadeOfTheParts) {
  for (const Mode mode : kModes) {
    for (const auto& sizes : kChunks)
      expect_backward_through_parts(mode, sizes);
  }
}

TEST(DistributedTest, OnePartAloneReachesItsRows) {
  nn::Linear net(3, 2, {.dtype = DType::f64});
  const Tensor x = randn({4, 3}, f64()).requires_grad_();
  DataParallel dp(net, {.devices = devices(2)});
  const auto y = dp.distributed(x);
  sum(y.parts()[1].value).backward();
  const std::vector<double> dx = x.grad().to_doubles();
  for (std::size_t i = 0; i < dx.size(); ++i)
    EXPECT_EQ(dx[i] != 0, i >= 6) << i;
  EXPECT_THAT(y.gather().to_doubles(), near(net(x)));
}

struct TwoOutputs {
  Tensor first, second;
  TANDEM_FIELDS(first, second)
};

/// Two heads that have nothing in common.
struct TwoHeads : nn::Module {
  nn::Linear a{3, 2, {.dtype = DType::f64}}, b{3, 4, {.dtype = DType::f64}};
  TwoOutputs forward(const Tensor& x) { return {tanh(a(x)), tanh(b(x))}; }
  TANDEM_MODULE(TwoHeads, a, b)
};

TEST(OutputsTest, EachHasItsOwnBackward) {
  for (const Mode mode : kModes) {
    TwoHeads net;
    TwoHeads alone = nn::clone(net);
    const Tensor x = randn({5, 3}, f64());
    const TwoOutputs right = alone(x);
    sum(right.first).backward();
    sum(square(right.second)).backward();
    DataParallel dp(net, {.devices = devices(3), .mode = mode});
    const TwoOutputs y = dp(x);
    sum(y.first).backward();
    EXPECT_THROW(sum(y.first).backward(), InvalidArgument) << "the tape of this one is gone";
    sum(square(y.second)).backward();
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
    EXPECT_THROW(sum(y.second).backward(), InvalidArgument);
  }
}

TEST(OutputsTest, ACallMayBeInACheckpoint) {
  for (const Mode mode : kModes) {
    manual_seed(1);
    NormMlp net;
    NormMlp alone = nn::clone(net);
    const Tensor x = small_batch().x;
    const Tensor own = x.clone().requires_grad_(), same = x.clone().requires_grad_();
    sum(square(autograd::checkpoint([&](const Tensor& in) { return tanh(alone(tanh(in))); }, same)))
        .backward();
    DataParallel dp(net, {.devices = devices(3), .mode = mode});
    sum(square(autograd::checkpoint([&](const Tensor& in) { return tanh(dp(tanh(in))); }, own)))
        .backward();
    EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
    EXPECT_LE(difference(values_of(net), values_of(alone)), 1e-12) << "statistics, once";
    EXPECT_THAT(own.grad().to_doubles(), near(same.grad()));
  }
}

TEST(NoSyncTest, MayBeConditional) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(2)});
  std::optional<NoSync<ReplicaSet>> scope;
  for (const bool last : {false, true}) {
    if (last)
      scope.reset();
    else
      scope.emplace(dp.no_sync());
    cross_entropy(dp(small_batch().x), small_batch().labels).backward();
  }
  Mlp alone = nn::clone(net);
  for (int i = 0; i < 2; ++i)
    cross_entropy(alone(small_batch().x), small_batch().labels).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

}  // namespace
}  // namespace tandem::parallel::test
