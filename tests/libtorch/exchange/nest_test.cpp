// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// PyTorch's tensors in nests: counted, scattered to virtual devices, gathered, on PyTorch's graph.

#include "tandem/libtorch/nest.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "tandem/libtorch/devices.hpp"
#include "tandem/parallel/distributed.hpp"
#include "tandem/parallel/scatter_gather.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem::libtorch {
namespace {

using parallel::Combine;
using parallel::Combined;
using parallel::count_rows;
using parallel::Distributed;
using parallel::gather;
using parallel::replicate;
using parallel::Replicated;
using parallel::Rows;
using parallel::rows;
using parallel::scatter;
using parallel::Split;
using parallel::split;
using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kDeviceCount = 4;

std::vector<Device> virtual_devices() {
  std::vector<Device> all;
  for (int i = 0; i < kDeviceCount; ++i)
    all.push_back(Device{DeviceType::cpu, i});
  return all;
}

std::size_t input_bytes(int index) {
  const MemoryStats stats = logical_device(Device{DeviceType::cpu, index}).memory_stats();
  return stats.by_category[static_cast<std::size_t>(Category::input)];
}

/// Whether x is `expected` bit for bit, on a virtual device.
::testing::AssertionResult same(const at::Tensor& x, const at::Tensor& expected, int device) {
  if (x.device() != torch_device(Device{DeviceType::cpu, device}))
    return ::testing::AssertionFailure() << "on " << x.device() << ", not tandem:" << device;
  if (!at::equal(x.cpu(), expected))
    return ::testing::AssertionFailure() << x.cpu() << " is not " << expected;
  return ::testing::AssertionSuccess();
}

class TorchNestTest : public ::testing::Test {
 protected:
  TorchNestTest() {
    register_devices(8);
    torch::manual_seed(1);
  }
};

struct TorchBatch {
  at::Tensor x;
  std::map<std::string, std::optional<at::Tensor>> named;
  Split<at::Tensor> columns;
  Replicated<std::vector<at::Tensor>> tables;
  Rows<at::Tensor> each;
  int epoch = 3;
  at::Tensor none = {};
  TANDEM_FIELDS(x, named, columns, tables, each, epoch, none)
};

static_assert(TensorNest<std::map<std::string, at::Tensor>> &&
              std::same_as<NestLeaf<TorchBatch>, at::Tensor>);

/// Seven rows.
TorchBatch torch_batch() {
  std::vector<at::Tensor> each;
  for (int i = 0; i < 7; ++i)
    each.push_back(at::full({i}, i));
  return {.x = at::randn({7, 3}),
          .named = {{"mask", at::arange(7)}, {"no", std::nullopt}},
          .columns = split(at::randn({2, 7}), -1),
          .tables = replicate(std::vector<at::Tensor>{at::scalar_tensor(5), at::randn({2, 2})}),
          .each = rows(std::move(each))};
}

const std::vector<std::int64_t> kUneven{3, 0, 1, 3};

TEST_F(TorchNestTest, IsScatteredByMarks) {
  const TorchBatch batch = torch_batch();
  EXPECT_EQ(count_leaves(batch), 13u);
  EXPECT_EQ(count_rows(0, batch), 7);
  const auto parts = scatter(batch, virtual_devices(), kUneven);
  std::int64_t begin = 0;
  for (int i = 0; i < kDeviceCount; ++i) {
    SCOPED_TRACE(i);
    const TorchBatch& part = parts[static_cast<std::size_t>(i)];
    const std::int64_t n = kUneven[static_cast<std::size_t>(i)];
    EXPECT_TRUE(same(part.x, batch.x.narrow(0, begin, n), i));
    EXPECT_TRUE(same(*part.named.at("mask"), batch.named.at("mask")->narrow(0, begin, n), i));
    EXPECT_FALSE(part.named.at("no").has_value() || part.none.defined());
    EXPECT_TRUE(same(part.columns.value, batch.columns.value.narrow(1, begin, n), i));
    EXPECT_TRUE(same(part.tables.value[0], batch.tables.value[0], i));
    EXPECT_TRUE(same(part.tables.value[1], batch.tables.value[1], i));
    ASSERT_EQ(part.each.value.size(), static_cast<std::size_t>(n));
    for (std::int64_t k = 0; k < n; ++k)
      EXPECT_TRUE(same(part.each.value[static_cast<std::size_t>(k)],
                       batch.each.value[static_cast<std::size_t>(begin + k)],
                       i));
    EXPECT_EQ(part.epoch, 3);
    begin += n;
  }
}

TEST_F(TorchNestTest, RowsOnTheirDeviceAreViews) {
  const at::Tensor x = at::ones({4, 2}).to(torch_device(Device{DeviceType::cpu, 1}));
  const std::size_t before = input_bytes(0);
  const auto parts = scatter(x, virtual_devices(), std::vector<std::int64_t>{2, 2, 0, 0});
  EXPECT_TRUE(parts[1].is_alias_of(x));
  EXPECT_FALSE(parts[0].is_alias_of(x));
  EXPECT_GT(input_bytes(0), before) << "a copy is counted as an input";
  EXPECT_EQ(parallel::detail::split_nbytes(x, Device{DeviceType::cpu, 1}), 4 * 2 * sizeof(float));
  EXPECT_EQ(parallel::detail::split_nbytes(x, Device{DeviceType::cpu, 0}), 0u);
}

TEST_F(TorchNestTest, RowsThatDifferAreNamed) {
  TorchBatch batch = torch_batch();
  batch.named["mask"] = at::ones({6});
  EXPECT_THAT(thrown_text([&] {
                count_rows(0, at::ones({7, 1}), batch);
              }),
              AllOf(HasSubstr("argument 0 (Float [7, 1] on cpu, dimension 0) has 7 rows"),
                    HasSubstr("argument 1.named[\"mask\"] (Float [6] on cpu, dimension 0) has 6"),
                    HasSubstr("argument 1.columns (Float [2, 7] on cpu, dimension -1)")));
  EXPECT_THAT(thrown_text([] { count_rows(0, at::scalar_tensor(1)); }),
              HasSubstr("argument 0 is a scalar tensor, which has no rows"));
  EXPECT_THAT(thrown_text([] {
                count_rows(2, at::ones({2, 2}));
              }),
              HasSubstr("argument 0 (Float [2, 2] on cpu) has no dimension 2"));
  EXPECT_THAT(thrown_text([] {
                scatter(at::ones({1}),
                        std::vector<Device>{Device{DeviceType::cpu, 64}},
                        std::vector<std::int64_t>{1});
              }),
              HasSubstr("call register_devices"));
}

TEST_F(TorchNestTest, GradientsFlowBackToTheHost) {
  const at::Tensor x = at::randn({7, 3}).requires_grad_(), weight = at::randn({7, 3});
  const at::Tensor table = at::randn({3}).requires_grad_();
  const auto parts = scatter(std::pair(x, replicate(table)), virtual_devices(), kUneven);
  std::vector<at::Tensor> products;
  for (const auto& [rows, whole] : parts)
    products.push_back(rows * whole.value);
  const at::Tensor y = gather(std::span<const at::Tensor>(products), Device{DeviceType::cpu, 2});
  EXPECT_TRUE(same(y.detach(), (x * table).detach(), 2));
  (y * weight.to(y.device())).sum().backward();
  EXPECT_TRUE(x.grad().device().is_cpu());
  EXPECT_TRUE(at::allclose(x.grad(), weight * table.detach()));
  EXPECT_TRUE(at::allclose(table.grad(), (weight * x.detach()).sum(0)));
  const at::NoGradGuard off;
  EXPECT_FALSE(scatter(x, virtual_devices(), kUneven)[0].requires_grad());
}

struct TorchReport {
  at::Tensor y;
  at::Tensor loss;  // a scalar
  Split<at::Tensor> columns;
  Combined<at::Tensor, Combine::sum> counts;
  Combined<std::int64_t, Combine::sum> rows;
  Combined<double, Combine::weighted_mean> mean;
  std::string name = "report";
  std::optional<at::Tensor> none = {};
  at::Tensor undefined = {};
  TANDEM_FIELDS(y, loss, columns, counts, rows, mean, name, none, undefined)
};

TorchReport report_of(const at::Tensor& x) {
  const at::Tensor mean = x.mean();
  return {.y = x * 2,
          .loss = mean,
          .columns = split(x.t(), 1),
          .counts = {(x > 0).sum(0)},
          .rows = {x.size(0)},
          .mean = {mean.item<double>()}};
}

TEST_F(TorchNestTest, IsGatheredByMarks) {
  const at::Tensor x = at::randn({7, 3}, at::kDouble).requires_grad_();
  const std::vector<std::int64_t> sizes{3, 0, 1, 3}, active{3, 1, 3};
  std::vector<TorchReport> parts;
  for (const at::Tensor& part : scatter(x, virtual_devices(), sizes))
    if (part.size(0) > 0) parts.push_back(report_of(part));
  const TorchReport all = gather(std::span<const TorchReport>(parts),
                                 Device{DeviceType::cpu, 1},
                                 {.scalars = Combine::weighted_mean, .rows = active});
  const TorchReport expected = report_of(x);
  EXPECT_TRUE(same(all.y, expected.y, 1));
  EXPECT_TRUE(same(all.columns.value, expected.columns.value, 1));
  EXPECT_TRUE(same(all.counts.value, expected.counts.value, 1));
  EXPECT_EQ(all.rows.value, 7);
  EXPECT_NEAR(all.mean.value, expected.mean.value, 1e-14);
  EXPECT_NEAR(all.loss.item<double>(), expected.loss.item<double>(), 1e-14);
  EXPECT_FALSE(all.none.has_value() || all.undefined.defined());
  all.loss.backward();
  EXPECT_TRUE(at::allclose(x.grad(), at::full({7, 3}, 1.0 / 21, at::kDouble)));
  const auto stacked = gather(std::span<const TorchReport>(parts),
                              Device{DeviceType::cpu, 0},
                              {.scalars = Combine::stack, .rows = active});
  EXPECT_EQ(stacked.loss.sizes(), (std::vector<std::int64_t>{3}));
}

TEST_F(TorchNestTest, PartsThatDoNotFitSayWhatDiffers) {
  const auto refusal = [](const at::Tensor& first, const at::Tensor& second) {
    const std::vector<at::Tensor> parts{first, second};
    return thrown_text([&] {
      gather(std::span<const at::Tensor>(parts),
             Device{DeviceType::cpu, 0},
             {.scalars = Combine::mean});
    });
  };
  EXPECT_THAT(refusal(at::ones({1, 2}), at::ones({2, 3})),
              HasSubstr("a tensor is Float [2, 3] on cpu in part 1 and Float [1, 2] on cpu"));
  EXPECT_THAT(refusal(at::ones({1}), at::ones({1}, at::kDouble)), HasSubstr("the same dtype"));
  EXPECT_THAT(refusal(at::ones({1}), {}), HasSubstr("defined in some parts only"));
  EXPECT_THAT(refusal(at::scalar_tensor(1, at::kLong), at::scalar_tensor(1, at::kLong)),
              HasSubstr("a mean needs floats, got Long [] on cpu"));
  const std::vector<std::vector<at::Tensor>> counts{{at::ones({1})}, {}};
  EXPECT_THAT(thrown_text([&] {
                gather(std::span(counts), Device{DeviceType::cpu, 0});
              }),
              HasSubstr("part 1 holds 0 tensors, but part 0 holds 1"));
}

TEST_F(TorchNestTest, StaysDistributed) {
  const at::Tensor x = at::randn({4, 2});
  std::vector<Distributed<at::Tensor>::Part> made;
  for (int i = 0; i < 2; ++i)
    made.push_back({{i, Device{DeviceType::cpu, i}, {2 * i, 2 * i + 2}},
                    x.narrow(0, 2 * i, 2).to(torch_device(Device{DeviceType::cpu, i}))});
  const Distributed<at::Tensor> y(std::move(made), Device{DeviceType::cpu, 3}, {});
  EXPECT_TRUE(same(y.gather(), x, 3));
  EXPECT_TRUE(same(y.reduce(Combine::sum), x.narrow(0, 0, 2) + x.narrow(0, 2, 2), 3));
}

}  // namespace
}  // namespace tandem::libtorch
