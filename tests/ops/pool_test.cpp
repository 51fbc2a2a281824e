// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/pool.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/autograd/gradcheck.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Combine;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::leaf;
using testing::near;
using testing::thrown_text;
using ::testing::Values;

struct PoolCase {
  Shape x;
  Pair kernel;
  Pool2dOptions options;
  friend std::ostream& operator<<(std::ostream& s, const PoolCase& c) {
    return s << c.x << " by " << c.kernel[0] << ", " << c.kernel[1];
  }
};

const PoolCase kHalving{{2, 3, 4, 6}, {2, 2}, {}};
const PoolCase kOverlapping{{2, 3, 7, 6}, {3, 2}, {.stride = Pair{2, 1}, .padding = {1, 1}}};
const PoolCase kGaps{{1, 70, 7, 8},
                     {2, 2},
                     {.stride = Pair{3, 4}}};  // more channels than lanes, positions in no window
const PoolCase kPoolLeftOver{{3, 1, 5, 5}, {2, 3}, {}};

/// What a window of the definition holds: the values of x by their index in the plane.
struct WindowValues {
  std::vector<std::int64_t> index;
  std::vector<double> value;
};

std::vector<WindowValues> windows(const PoolCase& c, const std::vector<double>& x) {
  std::vector<WindowValues> all;
  const Pair stride = c.options.stride.value_or(c.kernel);
  for (std::int64_t plane = 0; plane < c.x[0] * c.x[1]; ++plane) {
    for (std::int64_t i = -c.options.padding[0]; i + c.kernel[0] <= c.x[2] + c.options.padding[0];
         i += stride[0]) {
      for (std::int64_t j = -c.options.padding[1]; j + c.kernel[1] <= c.x[3] + c.options.padding[1];
           j += stride[1]) {
        WindowValues w;
        for (std::int64_t k = 0; k < c.kernel[0] * c.kernel[1]; ++k) {
          const std::int64_t row = i + k / c.kernel[1], column = j + k % c.kernel[1];
          if (row < 0 || row >= c.x[2] || column < 0 || column >= c.x[3]) continue;
          w.index.push_back(row * c.x[3] + column);
          w.value.push_back(x[static_cast<std::size_t>(plane * c.x[2] * c.x[3] + w.index.back())]);
        }
        all.push_back(w);
      }
    }
  }
  return all;
}

class PoolTest : public ::testing::TestWithParam<std::tuple<PoolCase, DType, MemoryFormat, int>> {
 protected:
  const PoolCase& pool() const { return std::get<0>(GetParam()); }
  DType dtype() const { return std::get<1>(GetParam()); }
  MemoryFormat format() const { return std::get<2>(GetParam()); }

 private:
  ContextScope scope_{[](Context& c) { c.threads = std::get<3>(GetParam()); }};
};

TEST_P(PoolTest, MaximaFollowTheDefinition) {
  const Tensor x = randn(pool().x, {.dtype = dtype()}).contiguous(format()).requires_grad_();
  const auto [y, index] = max_pool2d_with_indices(x, pool().kernel, pool().options);
  EXPECT_TRUE(y.is_contiguous(format()));
  EXPECT_EQ(index.dtype(), DType::i64);

  const std::vector<double> values = x.to_doubles();
  std::vector<double> wanted, wanted_index, dx(values.size());
  const std::vector<WindowValues> all = windows(pool(), values);
  const std::size_t per_plane = all.size() / static_cast<std::size_t>(pool().x[0] * pool().x[1]);
  const std::size_t plane = static_cast<std::size_t>(pool().x[2] * pool().x[3]);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto best = std::ranges::max_element(all[i].value) - all[i].value.begin();
    wanted.push_back(all[i].value[static_cast<std::size_t>(best)]);
    wanted_index.push_back(static_cast<double>(all[i].index[static_cast<std::size_t>(best)]));
    dx[i / per_plane * plane + static_cast<std::size_t>(wanted_index.back())] +=
        static_cast<double>(i + 1);
  }
  EXPECT_EQ(y.to_doubles(), wanted);
  EXPECT_EQ(index.to_doubles(), wanted_index);
  const Tensor dy =
      arange(1, static_cast<double>(y.numel() + 1), 1, {.dtype = dtype()}).reshape(y.shape());
  EXPECT_EQ(autograd::grad({y}, {x}, {dy})[0].to_doubles(), dx);
}

TEST_P(PoolTest, AveragesFollowTheDefinition) {
  for (const PadCount count : {PadCount::include, PadCount::exclude}) {
    const Tensor x = randn(pool().x, {.dtype = dtype()}).contiguous(format());
    const Tensor y = avg_pool2d(x, pool().kernel, pool().options, count);
    EXPECT_TRUE(y.is_contiguous(format()));
    std::vector<double> wanted;
    for (const WindowValues& w : windows(pool(), x.to_doubles())) {
      double sum = 0;
      for (const double v : w.value)
        sum += v;
      const auto all = static_cast<double>(pool().kernel[0] * pool().kernel[1]);
      wanted.push_back(sum /
                       (count == PadCount::include ? all : static_cast<double>(w.value.size())));
    }
    EXPECT_TRUE(near(y.to_doubles(), wanted, dtype() == DType::f64 ? 1e-15 : 1e-6));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         PoolTest,
                         Combine(Values(kHalving, kOverlapping, kGaps, kPoolLeftOver),
                                 Values(DType::f32, DType::f64),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last),
                                 Values(1, 2)));

class PoolGradientTest : public ::testing::TestWithParam<std::tuple<PoolCase, MemoryFormat>> {};

TEST_P(PoolGradientTest, AgreesWithDifferencesTwice) {
  const auto& [c, format] = GetParam();
  // Values far apart: a difference of eps does not change which is the largest.
  Shape shape = c.x;  // of few elements: each is changed alone, and for each all others once more
  shape[0] = 1;
  shape[1] = std::min<std::int64_t>(shape[1], 2);
  const Tensor x = ((arange(0, static_cast<double>(numel(shape)), 1, {.dtype = DType::f64}) * 0.618)
                        .reshape(shape))
                       .detach();
  const Tensor spread = sin(x * 7.0).contiguous(format).requires_grad_();
  const auto list = [](auto op) {
    return [op](const std::vector<Tensor>& in) { return std::vector<Tensor>{op(in[0])}; };
  };
  const auto check = [&](auto op) { EXPECT_EQ(autograd::gradcheck(list(op), {spread}), ""); };
  const auto check_twice = [&](auto op) {
    check(op);
    EXPECT_EQ(autograd::gradgradcheck(list(op), {spread}, testing::twice()), "");
  };
  check_twice([c = c](const Tensor& in) { return max_pool2d(in, c.kernel, c.options); });
  check_twice([c = c](const Tensor& in) { return avg_pool2d(in, c.kernel, c.options); });
  check(
      [c = c](const Tensor& in) { return avg_pool2d(in, c.kernel, c.options, PadCount::exclude); });
  check([](const Tensor& in) { return adaptive_avg_pool2d(in, {3, 2}); });
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         PoolGradientTest,
                         Combine(Values(kHalving, kOverlapping, kGaps),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last)));

TEST(MaxPool2d, ACheckpointLetsGoOfWhereTheMaximaWere) {
  const Tensor x = leaf({4, 3, 32, 32}, DType::f32);
  LogicalDevice& device = logical_device(x.device());
  const auto pooled = [](const Tensor& in) { return max_pool2d(in, {2, 2}); };
  const Tensor plain = autograd::grad({pooled(x).sum()}, {x})[0];
  const std::size_t before = device.memory_stats().in_use;
  const Tensor y = autograd::checkpoint(pooled, x);
  EXPECT_EQ(device.memory_stats().in_use - before, y.buffer().nbytes()) << "the result alone";
  EXPECT_EQ(autograd::grad({y.sum()}, {x})[0].to_doubles(), plain.to_doubles());
}

TEST(MaxPool2d, TakesTheFirstOfEqualsAndNaNAboveAll) {
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    const Tensor equal = ones({1, 2, 2, 4}).contiguous(format);
    EXPECT_THAT(max_pool2d_with_indices(equal, {2, 2}).second.to_doubles(),
                ElementsAre(0, 2, 0, 2));
    const float nan = std::numeric_limits<float>::quiet_NaN(),
                low = -std::numeric_limits<float>::infinity();
    const Tensor x =
        tensor({1.f, nan, 2.f, low, low, low, nan, 9.f}).reshape({1, 2, 2, 2}).contiguous(format);
    const auto [y, index] = max_pool2d_with_indices(x, {2, 2});
    EXPECT_TRUE(std::isnan(y.to_doubles()[0]) && std::isnan(y.to_doubles()[1]));
    EXPECT_THAT(index.to_doubles(), ElementsAre(1, 2));
  }
}

TEST(AdaptiveAvgPool2d, HasPyTorchsBorders) {
  // 5 columns to 3: [0, 2), [1, 4), [3, 5).
  const Tensor x = tensor({0.0, 1.0, 2.0, 3.0, 4.0}).reshape({1, 1, 1, 5});
  EXPECT_THAT(adaptive_avg_pool2d(x, {1, 3}).to_doubles(), ElementsAre(0.5, 2, 3.5));
  EXPECT_THAT(adaptive_avg_pool2d(x, {2, 1}).to_doubles(), ElementsAre(2, 2));
  const Tensor image = randn({2, 3, 4, 4}, {.dtype = DType::f64});
  EXPECT_TRUE(near(adaptive_avg_pool2d(image, {1, 1}).reshape({2, 3}), image.mean({2, 3}), 1e-15));
}

TEST(Pool, TakesStridedInputsAndEmptyBatches) {
  const Tensor wide = leaf({2, 3, 8, 6});
  const Tensor x = wide.slice(2, {.step = 2}).transpose(2, 3);
  EXPECT_TRUE(near(max_pool2d(x, {2, 2}), max_pool2d(x.detach().clone().contiguous(), {2, 2}), 0));
  EXPECT_TRUE(near(avg_pool2d(x, {2, 2}), avg_pool2d(x.detach().clone().contiguous(), {2, 2}), 0));
  EXPECT_EQ(autograd::grad({max_pool2d(x, {2, 2}).sum()}, {wide})[0].shape(), wide.shape());

  const Tensor none = leaf({0, 3, 4, 4});
  for (const Tensor& y :
       {max_pool2d(none, {2, 2}), avg_pool2d(none, {2, 2}), adaptive_avg_pool2d(none, {2, 2})}) {
    EXPECT_EQ(y.shape(), (Shape{0, 3, 2, 2}));
    EXPECT_EQ(autograd::grad({y.sum()}, {none})[0].shape(), none.shape());
  }
}

TEST(Pool, ErrorsNameShapesAndRemedy) {
  const Tensor x = randn({2, 3, 4, 5});
  const auto text = [](auto f) { return thrown_text(f); };
  EXPECT_THAT(text([&] {
                max_pool2d(x, {5, 2});
              }),
              AllOf(HasSubstr("kernel 5"), HasSubstr("(2, 3, 4, 5)"), HasSubstr("4 padded rows")));
  EXPECT_THAT(text([&] {
                avg_pool2d(x, {2, 2}, {.padding = {0, 2}});
              }),
              HasSubstr("at most half the kernel"));
  EXPECT_THAT(text([&] {
                max_pool2d(x, {2, 2}, {.stride = Pair{0, 1}});
              }),
              HasSubstr("stride >= 1"));
  EXPECT_THAT(text([&] {
                max_pool2d(x.select(0, 0), {2, 2});
              }),
              AllOf(HasSubstr("(N, C, H, W)"), HasSubstr("(3, 4, 5)")));
  EXPECT_THAT(text([&] {
                adaptive_avg_pool2d(x, {0, 1});
              }),
              AllOf(HasSubstr("(0, 1)"), HasSubstr("(2, 3, 4, 5)")));
  EXPECT_THAT(text([&] {
                max_pool2d(ones({1, 1, 4, 4}, {.dtype = DType::i64}), {2, 2});
              }),
              HasSubstr("i64"));
}

std::vector<std::uint32_t> bits(const Tensor& x) {
  std::vector<std::uint32_t> all;
  for (const float v : x.contiguous().to_host<float>())
    all.push_back(std::bit_cast<std::uint32_t>(v));
  return all;
}

/// What pooling gives for x, bit by bit.
std::map<std::string, std::vector<std::uint32_t>> pooled(const Tensor& x_,
                                                         Pair kernel,
                                                         const Pool2dOptions& options) {
  const Tensor x = x_.detach().requires_grad_();
  const auto [most, index] = max_pool2d_with_indices(x, kernel, options);
  const Tensor mean = avg_pool2d(x, kernel, options);
  manual_seed(3);
  const Tensor dy = randn(most.shape());
  const auto gradient = [&](const Tensor& y) { return bits(autograd::grad({y}, {x}, {dy})[0]); };
  return {{"maximum", bits(most)},
          {"index", bits(index.to(DType::f32))},
          {"mean", bits(mean)},
          {"gradient of the maximum", gradient(most)},
          {"gradient of the mean", gradient(mean)}};
}

// Rows that are and are not multiples of a vector; windows narrower, as wide as and wider than
// their distance.
TEST(PoolTest, BothFormatsGiveTheSameBits) {
  manual_seed(2);
  for (const std::int64_t width : {5, 16, 33}) {
    Tensor x = randint(-4, 4, {2, 3, 6, width}).to(DType::f32) * 0.1;  // many ties
    for (const std::int64_t at : {0, 7, 40, 41})
      x.flatten().narrow(0, at, 1).fill_(NAN);
    const Tensor last = x.contiguous(MemoryFormat::channels_last);
    for (const std::int64_t k : {1, 2, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        const Pool2dOptions options{.stride = Pair{stride, stride}, .padding = {k / 2, k / 2}};
        const auto expected = pooled(last, {k, k}, options);
        for (const auto& [name, values] : pooled(x, {k, k}, options)) {
          EXPECT_TRUE(values == expected.at(name))
              << name << ": " << width << " columns, kernel " << k << ", stride " << stride;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tandem
