// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/observer.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Device other() {
  return testing::device(1);
}

class CopyCounter final : public Observer {
 public:
  void on_copy(const CopyEvent& e) noexcept override {
    nbytes += e.nbytes;
    last = e.destination;
  }
  std::atomic<std::size_t> nbytes{0};
  Device last;
};

TEST(CopyTest, BetweenDevicesIsOneCountedCopyOfTheBytes) {
  CopyCounter counter;
  const Subscription subscription(counter);
  const Tensor x = randn({3, 4, 5, 6}).contiguous(MemoryFormat::channels_last);
  const Tensor y = x.to(other());
  EXPECT_EQ(counter.nbytes, x.nbytes());
  EXPECT_EQ(counter.last, other());
  EXPECT_EQ(y.device(), other());
  EXPECT_TRUE(y.is_contiguous(MemoryFormat::channels_last));
  EXPECT_EQ(y.to_doubles(), x.to_doubles());
  EXPECT_TRUE(x.to(x.device()).is(x));
}

TEST(CopyTest, StridedSourceSendsOnlyItsElements) {
  CopyCounter counter;
  const Subscription subscription(counter);
  const Tensor x = randn({8, 8});
  const Tensor part = x.slice(1, {0, 8, 2});
  EXPECT_EQ(part.to(other()).to_doubles(), part.to_doubles());
  EXPECT_EQ(counter.nbytes, part.nbytes());
}

TEST(CopyTest, GradientComesBack) {
  const Tensor x = ones({2, 2}).requires_grad_();
  sum(x.to(other()) * 3.0).to(x.device()).backward();
  EXPECT_EQ(x.grad().device(), x.device());
  EXPECT_THAT(x.grad().to_doubles(), Each(3));
}

TEST(CopyTest, ConvertsTypes) {
  const Tensor x = tensor({-1.5, 0.0, 2.75});
  EXPECT_THAT(x.to(DType::i32).to_doubles(), ElementsAre(-1, 0, 2));
  EXPECT_THAT(x.to(DType::boolean).to_doubles(), ElementsAre(1, 0, 1));
  EXPECT_THAT(x.to(DType::f32).to_doubles(), ElementsAre(-1.5, 0, 2.75));
  const Tensor leaf = ones({2}).requires_grad_();
  EXPECT_FALSE(leaf.to(DType::i64).requires_grad());
  sum(leaf.to(DType::f64) * tensor({2.0, 5.0})).backward();
  EXPECT_EQ(leaf.grad().dtype(), DType::f32);
  EXPECT_THAT(leaf.grad().to_doubles(), ElementsAre(2, 5));
}

class TransposeTest : public ::testing::TestWithParam<std::tuple<DType, int>> {};

TEST_P(TransposeTest, MovesEveryElement) {
  const auto [dtype, threads] = GetParam();
  const ContextScope scope([n = threads](Context& c) { c.threads = n; });
  const Tensor x = randint(0, 2, {3, 37, 45, 50}, {.dtype = dtype});
  const Tensor last = x.contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::channels_last));
  // Elements one by one: no kernel of copies is in the way.
  const auto values = x.to(DType::i64).to_host<std::int64_t>();
  for (const auto& [n, c, h, w] :
       {std::array{0, 0, 0, 0}, {2, 36, 44, 49}, {1, 31, 32, 33}, {2, 32, 0, 17}}) {
    const auto at = static_cast<std::size_t>(((n * 37 + c) * 45 + h) * 50 + w);
    EXPECT_EQ(last.select(0, n).select(0, c).select(0, h).select(0, w).item(),
              static_cast<double>(values[at]));
  }
  EXPECT_EQ(last.contiguous().to_doubles(), x.to_doubles());
  EXPECT_EQ(last.permute({3, 0, 2, 1}).contiguous().to_doubles(),
            x.permute({3, 0, 2, 1}).to_doubles());
}

INSTANTIATE_TEST_SUITE_P(Types,
                         TransposeTest,
                         ::testing::Combine(::testing::Values(DType::u8, DType::f32, DType::f64),
                                            ::testing::Values(1, 3)));

TEST(CopyTest, CloneHasItsOwnStorage) {
  const Tensor x = randn({3, 4}).t();
  Tensor y = x.clone();
  EXPECT_EQ(y.strides(), x.strides());
  y.fill_(0);
  EXPECT_NE(x.to_doubles(), y.to_doubles());
  EXPECT_TRUE(x.t().contiguous().is_contiguous());
}

}  // namespace
}  // namespace tandem
