// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <climits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

#include "tandem/nn/replicate.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/index.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/parallel/replica_error.hpp"

#include "devices.hpp"
#include "parallel/near.hpp"
#include "parallel/nets.hpp"
#include "thrown_text.hpp"

// Batches and options that programs meet sooner or later: few rows, none, other strides, wrong
// devices.
namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using testing::thrown_text;

/// Adds its input up with its weight, and tells who ran.
struct Witness : nn::Module {
  nn::Linear layer{12, 5, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) {
    const Tensor y = layer(x.flatten(1));
    return cat({y,
                full({x.size(0), 1},
                     double(context().replica),
                     {.dtype = DType::f64, .device = x.device()})},
               1);
  }
  TANDEM_MODULE(Witness, layer)
};

TEST(FewRowsTest, OnlyTheDevicesThatHaveRowsRunAndTheOrderStays) {
  constexpr int kFourDevices = 4;
  Witness net;
  Witness alone = nn::clone(net);
  DataParallel dp(net, {.devices = devices(kFourDevices)});
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 11, 13, 17, 31}) {
    const Tensor x = make_batch(rows, 3, DType::f64, false).x;
    const Tensor y = dp(x);
    const Tensor right = alone(x);
    EXPECT_LE(amax(abs(y.narrow(1, 0, 5) - right.narrow(1, 0, 5))).item(), 1e-12) << rows;
    std::vector<double> ran;
    for (int r = 0; r < kFourDevices; ++r) {
      const RowRange range = dp.plan(rows)[static_cast<std::size_t>(r)];
      ran.insert(ran.end(), static_cast<std::size_t>(range.size()), r);
    }
    EXPECT_EQ(y.narrow(1, 5, 1).to_doubles(), ran) << rows << " rows";
  }
}

TEST(EmptyBatchTest, GivesAnEmptyOutputOfTheRightShapeAndZeroGradients) {
  Mlp net;
  DataParallel dp(net, {.devices = devices(3)});
  Tensor x = make_batch(0, 1, DType::f64, false).x;
  x.requires_grad_();
  const Tensor y = dp(x);
  EXPECT_EQ(y.shape(), (Shape{0, 5}));
  EXPECT_EQ(y.device(), testing::device(0));
  sum(y).backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  for (const auto& [name, values] : gradients_of(net))
    EXPECT_THAT(values, ::testing::Each(0)) << name;
  EXPECT_EQ(dp.distributed(x).parts().size(), 1U);
  EXPECT_EQ(dp(make_batch(4, 1, DType::f64, false).x).size(0), 4);
}

TEST(EmptyBatchTest, AnotherDimensionMayBeEmpty) {
  nn::Linear net(3, 4, {.dtype = DType::f64});
  DataParallel dp(net, {.devices = devices(2)});
  const Tensor y = dp(zeros({5, 0, 3}, {.dtype = DType::f64}));
  EXPECT_EQ(y.shape(), (Shape{5, 0, 4}));
  sum(y).backward();
  EXPECT_THAT(net.weight.grad().to_doubles(), ::testing::Each(0));
  EXPECT_THAT(net.bias.grad().to_doubles(), ::testing::Each(0));
}

// Every policy shares out every row, or says what is wrong with it.
TEST(PlannerTest, AHundredThousandCases) {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const int most = std::min(8, testing::device_limit());
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto list = devices(1 + static_cast<int>(below(most)));
    const auto n = static_cast<std::int64_t>(list.size());
    const std::int64_t rows = below(4) == 0 ? below(4) : below(3000);
    const std::int64_t gpu0s[] = {
        0, 1, rows, rows + 1, -1 - below(9), INT_MAX, INT64_MAX, below(3000)};
    const std::int64_t gpu0 = gpu0s[below(8)];
    std::vector<std::int64_t> sizes;
    for (std::int64_t d = below(8) == 0 ? below(10) : n; d > 0; --d)
      sizes.push_back(below(20) == 0 ? -below(3) : below(900));
    const auto check = [&](const std::vector<std::int64_t>& chunks) {
      ASSERT_EQ(chunks.size(), list.size());
      ASSERT_EQ(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}), rows);
      ASSERT_GE(*std::ranges::min_element(chunks), 0);
    };
    try {
      const auto chunks = ChunkPolicy::gpu0(gpu0).plan(rows, list);
      check(chunks);
      ASSERT_EQ(chunks[0], n == 1 ? rows : std::min(rows, gpu0)) << "gpu0_bsz " << gpu0;
    } catch (const InvalidArgument&) {
      ASSERT_LT(gpu0, 0);
      ++refused;
    }
    const auto total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    const bool good = std::ssize(sizes) == n && total > 0 && total >= rows &&
                      std::ranges::none_of(sizes, [](std::int64_t s) { return s < 0; });
    try {
      check(ChunkPolicy::sizes(sizes).plan(rows, list));
      ASSERT_TRUE(good) << ::testing::PrintToString(sizes) << " for " << rows << " rows";
    } catch (const InvalidArgument&) {
      ASSERT_FALSE(good) << ::testing::PrintToString(sizes) << " for " << rows << " rows";
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(DimensionsTest, OneThatIsNotThereIsRefusedByName) {
  Mlp net, other;
  const Batch batch = make_batch(4, 1, DType::f64, false);
  DataParallel dp(net, {.devices = devices(2), .dim = 4});
  EXPECT_THAT(thrown_text([&] { dp(batch.x); }), HasSubstr("argument 0 (f64 (4, 3, 2, 2)"));
  DataParallel columns(other, {.devices = devices(2), .dim = 1});
  EXPECT_THAT(thrown_text([&] { columns.step(batch, kLoss); }),
              HasSubstr("argument 0.labels (i64 (4) on " + testing::device_name(0) +
                        ") has no dimension 1"));
}

/// The output and the gradients for an input that holds the same numbers in another way.
void expect_equal_to_contiguous(const std::string& what, const Tensor& x) {
  Mlp net;
  Mlp other = nn::clone(net);
  DataParallel dp(net, {.devices = devices(3), .chunk_sizes = {2, 0, 4}});
  DataParallel same(other, {.devices = devices(3), .chunk_sizes = {2, 0, 4}});
  const Tensor y = dp(x), right = same(x.contiguous());
  EXPECT_THAT(y.to_doubles(), same_values(right.to_doubles())) << what;
  sum(y).backward();
  sum(right).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(other)), testing::on_gpus() ? 1e-12 : 0)
      << what;
}

TEST(StridesTest, InputsOfAnyStridesGiveWhatContiguousOnesGive) {
  const Tensor wide = make_batch(12, 5, DType::f64, false).x;
  const Tensor turned = make_batch(6, 5, DType::f64, false).x;
  expect_equal_to_contiguous("transposed", turned.transpose(2, 3));
  expect_equal_to_contiguous("rows of every other", wide.reshape({6, 2, 12}).select(1, 1));
  expect_equal_to_contiguous("columns first",
                             turned.reshape({6, 12}).contiguous().t().contiguous().t());
  expect_equal_to_contiguous("a part in the middle", wide.narrow(0, 3, 6));
  expect_equal_to_contiguous("one row, expanded", turned.narrow(0, 2, 1).expand({6, 3, 2, 2}));
  expect_equal_to_contiguous("one number, expanded",
                             scalar(0.25, {.dtype = DType::f64}).expand({6, 12}));
  expect_equal_to_contiguous("channels last", turned.contiguous(MemoryFormat::channels_last));
}

/// Its two arguments are the same tensor, views of each other, or its own weight.
struct TwoArguments : nn::Module {
  nn::Linear layer{4, 4, {.dtype = DType::f64}};
  Tensor forward(const Tensor& a, const Tensor& b) { return layer(a) * b; }
  TANDEM_MODULE(TwoArguments, layer)
};

TEST(AliasTest, ArgumentsMayShareTheirMemory) {
  TwoArguments net;
  TwoArguments alone = nn::clone(net);
  DataParallel dp(net, {.devices = devices(3)});
  const Tensor x = randn({8, 4}, {.dtype = DType::f64});
  const std::pair<Tensor, Tensor> cases[] = {
      {x, x}, {x, x.detach()}, {x.narrow(0, 0, 6), x.narrow(0, 2, 6)}};
  for (const auto& [a, b] : cases) {
    const Tensor right = alone(a, b);
    EXPECT_LE(amax(abs(dp(a, b) - right)).item(), 1e-12);
  }
  Tensor one = x.clone(), two = x.clone();
  one.requires_grad_();
  two.requires_grad_();
  sum(dp(one, one)).backward();
  sum(alone(two, two)).backward();
  EXPECT_LE(amax(abs(one.grad() - two.grad())).item(), 1e-12);
}

TEST(AliasTest, AnInputMayBeAParameterOfTheModule) {
  TwoArguments net;
  TwoArguments alone = nn::clone(net);
  DataParallel dp(net, {.devices = devices(3)});
  sum(dp(net.layer.weight, net.layer.weight)).backward();
  sum(alone(alone.layer.weight, alone.layer.weight)).backward();
  EXPECT_LE(difference(gradients_of(net), gradients_of(alone)), 1e-12);
}

TEST(WrongDevicesTest, AreRefusedByName) {
  Mlp net;
  const Device here = testing::device(0);
  for (const int index : {-1, kMaxDevices, 999}) {
    EXPECT_THAT(thrown_text([&] {
                  DataParallel(net, {.devices = {here, {here.type, index}}});
                }),
                HasSubstr(to_string(Device{here.type, index})));
  }
  EXPECT_THAT(thrown_text([&] {
                DataParallel(net, {.devices = {here, here}});
              }),
              HasSubstr(to_string(here) + " is listed twice"));
  EXPECT_THAT(thrown_text([&] {
                DataParallel(net, {.devices = {testing::device(1), here}});
              }),
              HasSubstr("'hidden.weight' is on " + to_string(here) + ", but the first device is " +
                        testing::device_name(1)));
  DataParallel dp(net, {.devices = devices(2)});
  dp.step(make_batch(4, 1, DType::f64, false), kLoss);
}

TEST(WrongDevicesTest, HostAndGpusDoNotMix) {
  const Device here = testing::device(0);
  const bool on_host = here.type == DeviceType::cpu;
  if (on_host && device_count(DeviceType::cuda) == 0) GTEST_SKIP() << "there is no GPU";
  Mlp net;
  const Device other{on_host ? DeviceType::cuda : DeviceType::cpu, 0};
  EXPECT_THAT(thrown_text([&] {
                DataParallel dp(net, {.devices = {here, other}});
                dp.step(make_batch(4, 1, DType::f64, false), kLoss);
              }),
              HasSubstr("are of different kinds"));
}

}  // namespace
}  // namespace tandem::parallel::test
