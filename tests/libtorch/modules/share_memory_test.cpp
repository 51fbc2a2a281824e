// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/modules/share_memory.hpp"

#include <random>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace tandem::libtorch::test {
namespace {

/// The elements' places in their storage, one by one.
std::set<std::int64_t> places_of(const at::Tensor& x) {
  const at::Tensor all = at::arange(static_cast<std::int64_t>(x.storage().nbytes() / 4));
  const at::Tensor own =
      all.as_strided(x.sizes(), x.strides(), x.storage_offset()).contiguous().view(-1);
  return {own.data_ptr<std::int64_t>(), own.data_ptr<std::int64_t>() + own.numel()};
}

TEST(ShareMemoryTest, IsWhatTheElementsSay) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same cases each time
  const auto below = [&](int n) { return static_cast<std::int64_t>(random() % n); };
  const at::Tensor memory = at::zeros({400});
  const auto any_view = [&] {
    for (;;) {
      std::vector<std::int64_t> sizes, strides;
      std::int64_t last = below(60);
      const std::int64_t begin = last;
      for (std::int64_t d = below(4); d > 0; --d) {
        sizes.push_back(1 + below(5));
        strides.push_back(below(30));
        last += (sizes.back() - 1) * strides.back();
      }
      if (last < memory.numel()) return memory.as_strided(sizes, strides, begin);
    }
  };
  int shared = 0, cases = 5000;
  for (int i = 0; i < cases; ++i) {
    const at::Tensor x = any_view(), y = any_view();
    std::set<std::int64_t> both = places_of(x);
    const std::size_t apart = both.size() + places_of(y).size();
    both.merge(places_of(y));
    ASSERT_EQ(share_memory(x, y), both.size() < apart)
        << x.sizes() << x.strides() << x.storage_offset() << " and " << y.sizes() << y.strides()
        << y.storage_offset();
    shared += both.size() < apart ? 1 : 0;
  }
  EXPECT_GT(shared, cases / 10);
  EXPECT_LT(shared, cases - cases / 10);
}

TEST(ShareMemoryTest, OfColumnsAndOfParts) {
  const at::Tensor x = at::zeros({1000, 1000});
  EXPECT_FALSE(share_memory(x.select(1, 0), x.select(1, 1)));
  EXPECT_FALSE(share_memory(x.narrow(1, 0, 500), x.narrow(1, 500, 500)));
  EXPECT_TRUE(share_memory(x.narrow(1, 0, 501), x.narrow(1, 500, 500)));
  EXPECT_TRUE(share_memory(x, x.select(1, 999)));
  EXPECT_TRUE(share_memory(x.t(), x));
  EXPECT_FALSE(share_memory(x[0], x[1]));
  EXPECT_FALSE(share_memory(x, at::zeros({3})));
}

}  // namespace
}  // namespace tandem::libtorch::test
