// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/exchange.hpp"

#include <map>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/dlpack.hpp"
#include "tandem/tensor/factories.hpp"

#include "thrown_text.hpp"

namespace tandem::libtorch {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// All dtypes that tandem has.
const std::map<DType, at::ScalarType> kDTypes{{DType::f32, at::kFloat},
                                              {DType::f64, at::kDouble},
                                              {DType::bf16, at::kBFloat16},
                                              {DType::f16, at::kHalf},
                                              {DType::i32, at::kInt},
                                              {DType::i64, at::kLong},
                                              {DType::u8, at::kByte},
                                              {DType::boolean, at::kBool}};

std::vector<std::int64_t> sizes_of(const Tensor& x) {
  return {x.shape().begin(), x.shape().end()};
}

std::vector<double> doubles_of(const at::Tensor& x) {
  const at::Tensor flat = x.to(at::kDouble).reshape({-1}).contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

TEST(ExchangeTest, SharesTheMemoryOfEveryDTypeBothWays) {
  for (const auto& [ours, theirs] : kDTypes) {
    SCOPED_TRACE(name(ours));
    const Tensor x = tensor({0.0, 1.0, 1.0, 0.0, 1.0, 1.0}).reshape({2, 3}).to(ours);
    const at::Tensor there = to_torch(x);
    EXPECT_EQ(there.scalar_type(), theirs);
    EXPECT_EQ(there.data_ptr(), x.data());
    EXPECT_EQ(there.sizes().vec(), sizes_of(x));
    EXPECT_EQ(doubles_of(there), x.to_doubles());

    const at::Tensor y = at::tensor({0, 1, 1, 0}).reshape({2, 2}).to(theirs);
    const Tensor here = from_torch(y);
    EXPECT_EQ(here.dtype(), ours);
    EXPECT_EQ(here.data(), y.data_ptr());
    EXPECT_EQ(here.to_doubles(), doubles_of(y));
  }
}

TEST(ExchangeTest, KeepsViewsAsTheyLie) {
  const Tensor x = arange(0, 24, 1, {.dtype = DType::f32}).reshape({2, 3, 4});
  for (const Tensor& view : {x.transpose(0, 2),
                             x.slice(2, {.start = 1, .step = 2}),
                             x.select(1, 2),
                             x.narrow(0, 1, 0),
                             x.select(0, 1).select(0, 1).select(0, 1)}) {
    const at::Tensor there = to_torch(view);
    EXPECT_EQ(there.sizes().vec(), sizes_of(view));
    EXPECT_EQ(doubles_of(there), view.to_doubles());
    const Tensor back = from_torch(there);
    EXPECT_EQ(back.to_doubles(), view.to_doubles());
    if (view.numel() > 0) {
      EXPECT_EQ(there.data_ptr(), view.data());
      EXPECT_EQ(back.data(), view.data());
    }
  }
}

TEST(ExchangeTest, AWriteToOneIsSeenByTheOther) {
  Tensor x = zeros({3}, {.dtype = DType::f64});
  at::Tensor there = to_torch(x);
  there.fill_(7);
  EXPECT_EQ(x.to_doubles(), std::vector<double>(3, 7));
  x.add_(ones({3}, {.dtype = DType::f64}));
  EXPECT_EQ(doubles_of(there), std::vector<double>(3, 8));
}

/// Frees what it holds, here or in a thread of its own.
template <class T>
void free_in(bool another_thread, T& x) {
  if (another_thread) std::thread([mine = std::move(x)]() mutable { mine = T(); }).join();
  x = T();
}

/// Frees the lender and the borrower in either order, each in either thread.
template <class Lender, class Lend, class Values>
void free_in_any_order(const Lender& make, const Lend& lend, const Values& values_of) {
  for (int way = 0; way < 8; ++way) {
    auto lender = make();
    auto borrower = lend(lender);
    const std::vector<double> values(1000, 3);
    const auto free_lender = [&] { free_in((way & 1) != 0, lender); };
    const auto free_borrower = [&] { free_in((way & 2) != 0, borrower); };
    if ((way & 4) != 0) {
      free_lender();
      EXPECT_EQ(values_of(borrower), values) << way;
      free_borrower();
    } else {
      free_borrower();
      EXPECT_EQ(values_of(lender), values) << way;
      free_lender();
    }
  }
}

TEST(ExchangeTest, MemoryLivesAsLongAsEitherSideNeedsIt) {
  const auto values_of = [](const auto& x) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, Tensor>)
      return x.to_doubles();
    else
      return doubles_of(x);
  };
  const std::size_t before = logical_device({DeviceType::cpu, 0}).memory_stats().in_use;
  free_in_any_order([] { return full({1000}, 3, {.dtype = DType::f64}); },
                    [](const Tensor& x) { return to_torch(x); },
                    values_of);
  free_in_any_order([] { return at::full({1000}, 3, at::kDouble); },
                    [](const at::Tensor& x) { return from_torch(x); },
                    values_of);
  EXPECT_EQ(logical_device({DeviceType::cpu, 0}).memory_stats().in_use, before);
}

TEST(ExchangeTest, AMillionExchangesLeaveNoByte) {
  const std::size_t before = logical_device(Device{}).memory_stats().in_use;
  {
    const Tensor x = ones({4});
    for (int i = 0; i < 500'000; ++i) {
      const Tensor back = from_torch(to_torch(x));
      ASSERT_EQ(back.data(), x.data());
    }
  }
  EXPECT_EQ(logical_device(Device{}).memory_stats().in_use, before);
}

TEST(ExchangeTest, RefusesWhatItCannotShare) {
  const at::Tensor x = at::ones({2, 2});
  EXPECT_THAT(thrown_text([&] { from_torch(at::ones({2}).requires_grad_()); }),
              HasSubstr("use .detach()"));
  EXPECT_THAT(thrown_text([&] { from_torch(x.to_sparse()); }), HasSubstr(".to_dense()"));
  EXPECT_THAT(thrown_text([&] { from_torch(at::Tensor()); }), HasSubstr("undefined"));
  EXPECT_THAT(thrown_text([&] { from_torch(x.to(at::kMeta)); }), HasSubstr("on meta"));
  EXPECT_THAT(thrown_text([&] { from_torch(x.to(at::kComplexFloat)); }), HasSubstr("omplex"));
  EXPECT_THAT(thrown_text([&] { to_torch(ones({2}).requires_grad_()); }), HasSubstr("detach"));
  EXPECT_THAT(thrown_text([&] { to_torch(Tensor()); }), HasSubstr("undefined"));
  const Tensor read_only = from_dlpack(to_dlpack(ones({2}), {.read_only = true}));
  EXPECT_THAT(thrown_text([&] { to_torch(read_only); }),
              AllOf(HasSubstr("for reading only"), HasSubstr("clone()")));
  EXPECT_EQ(doubles_of(to_torch(read_only.clone())), std::vector<double>(2, 1));
}

}  // namespace
}  // namespace tandem::libtorch
