// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/ops/linalg.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tandem/autograd/gradcheck.hpp"
#include "tandem/core/error.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/runtime/context.hpp"

#include "ops/near.hpp"
#include "thrown_text.hpp"

extern "C" int openblas_get_num_threads();

namespace tandem {
namespace {

using ::testing::AllOf;
using ::testing::Combine;
using ::testing::Each;
using testing::expect_fused_is_formula;
using ::testing::HasSubstr;
using testing::leaf;
using testing::near;
using testing::thrown_text;
using ::testing::Values;

struct Shapes {
  Shape a, b, out;
  friend std::ostream& operator<<(std::ostream& s, const Shapes& x) {
    return s << x.a << " @ " << x.b;
  }
};

/// Index of `i` of `shape` in `from`, whose leading dimensions broadcast to shape's.
std::int64_t batch_index(std::int64_t i, const Shape& shape, const Shape& from) {
  std::int64_t at = 0, step = 1;
  for (int d = from.size() - 1, o = shape.size() - 1; d >= 0; --d, --o) {
    if (from[d] != 1) at += i % shape[o] * step;
    step *= from[d];
    i /= shape[o];
  }
  return at;
}

Shape leading(const Shape& s) {
  Shape batch;
  for (int d = 0; d + 2 < s.size(); ++d)
    batch.push_back(s[d]);
  return batch;
}

/// The definition, as a serial loop over dense values.
std::vector<double> product(const std::vector<double>& a,
                            Shape sa,
                            const std::vector<double>& b,
                            Shape sb) {
  if (sa.size() == 1) sa.insert(0, 1);
  if (sb.size() == 1) sb.push_back(1);
  const Shape batch = broadcast_shapes(leading(sa), leading(sb), "test");
  const std::int64_t m = sa[-2], n = sb[-1], k = sa[-1];
  std::vector<double> c(static_cast<std::size_t>(numel(batch) * m * n));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) {
    const std::int64_t p = i / (m * n), row = i / n % m, column = i % n;
    const std::int64_t pa = batch_index(p, batch, leading(sa)) * m * k,
                       pb = batch_index(p, batch, leading(sb)) * k * n;
    for (std::int64_t j = 0; j < k; ++j) {
      c[static_cast<std::size_t>(i)] += a[static_cast<std::size_t>(pa + row * k + j)] *
                                        b[static_cast<std::size_t>(pb + j * n + column)];
    }
  }
  return c;
}

const Shapes kShapes[] = {{{3, 4}, {4, 5}, {3, 5}},
                          {{4}, {4}, {}},
                          {{4}, {4, 5}, {5}},
                          {{3, 4}, {4}, {3}},
                          {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                          {{2, 3, 4}, {4}, {2, 3}},
                          {{4}, {2, 4, 5}, {2, 5}},
                          {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
                          {{2, 1, 3, 4}, {5, 4, 2}, {2, 5, 3, 2}},
                          {{1, 1}, {1, 1}, {1, 1}},
                          {{0, 4}, {4, 5}, {0, 5}},
                          {{3, 0}, {0, 5}, {3, 5}},
                          {{0, 3, 4}, {4, 5}, {0, 3, 5}},
                          {{70, 80}, {80, 90}, {70, 90}},
                          {{300, 130}, {130, 3}, {300, 3}},
                          {{6, 64, 32}, {32, 64}, {6, 64, 64}},
                          {{6, 64, 32}, {6, 32, 64}, {6, 64, 64}},
                          {{3, 1, 64, 48}, {2, 48, 64}, {3, 2, 64, 64}}};

class MatmulTest : public ::testing::TestWithParam<std::tuple<Shapes, DType, KernelPath, int>> {};

TEST_P(MatmulTest, FollowsTheDefinition) {
  const auto& [shapes, dtype, path, threads] = GetParam();
  const ContextScope scope([path = path, threads = threads](Context& c) {
    c.path = path;
    c.threads = threads;
  });
  const Tensor a = randn(shapes.a, {.dtype = dtype}), b = randn(shapes.b, {.dtype = dtype});
  const Tensor c = matmul(a, b);
  EXPECT_EQ(c.shape(), shapes.out);
  EXPECT_EQ(c.dtype(), dtype);
  EXPECT_TRUE(near(c.to_doubles(),
                   product(a.to_doubles(), shapes.a, b.to_doubles(), shapes.b),
                   dtype == DType::f64 ? 1e-13 : 1e-5));
}

INSTANTIATE_TEST_SUITE_P(Shapes,
                         MatmulTest,
                         Combine(::testing::ValuesIn(kShapes),
                                 Values(DType::f32, DType::f64),
                                 Values(KernelPath::native, KernelPath::fastest),
                                 Values(1, 2, 3)));

class MatmulLayoutTest : public ::testing::TestWithParam<std::tuple<DType, KernelPath>> {};

TEST_P(MatmulLayoutTest, StridesDoNotMatter) {
  const auto& [dtype, path] = GetParam();
  const ContextScope scope([path = path](Context& c) { c.path = path; });
  const TensorOptions options{.dtype = dtype};
  const Tensor rows = randn({90, 70}, options), wide = randn({90, 140}, options),
               deep = randn({3, 70, 90}, options);
  const Tensor lefts[] = {rows,
                          rows.t().contiguous().t(),
                          wide.slice(1, {.step = 2}),
                          wide.narrow(1, 35, 70),
                          deep.select(0, 1).t(),
                          rows.select(0, 3).unsqueeze(0).expand({90, 70})};
  const Tensor rights[] = {deep.select(0, 2),
                           rows.t(),
                           randn({70, 1}, options),
                           randn({70, 1}, options).expand({70, 80}),
                           randn({2, 70, 33}, options),
                           randn({70, 2, 33}, options).transpose(0, 1)};
  for (const Tensor& a : lefts) {
    for (const Tensor& b : rights) {
      EXPECT_TRUE(near(matmul(a, b).to_doubles(),
                       product(a.to_doubles(), a.shape(), b.to_doubles(), b.shape()),
                       dtype == DType::f64 ? 1e-13 : 1e-5))
          << a.strides() << " @ " << b.strides();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         MatmulLayoutTest,
                         Combine(Values(DType::f32, DType::f64),
                                 Values(KernelPath::native, KernelPath::fastest)));

TEST(Matmul, GradientsAgreeWithDifferencesTwice) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{matmul(in[0], in[1])};
  };
  for (const auto& [a, b, out] : std::vector<Shapes>(kShapes, kShapes + 12)) {
    EXPECT_EQ(autograd::gradcheck(f, {leaf(a), leaf(b)}), "") << a << b;
    EXPECT_EQ(autograd::gradgradcheck(f, {leaf(a), leaf(b)}, testing::twice()), "") << a << b;
  }
}

TEST(Matmul, ErrorsNameBothShapes) {
  const auto text = [](const Tensor& a, const Tensor& b) {
    return thrown_text([&] { matmul(a, b); });
  };
  EXPECT_THAT(text(randn({3, 4}), randn({5, 6})),
              AllOf(HasSubstr("(3, 4)"), HasSubstr("(5, 6)"), HasSubstr("4 == 5")));
  EXPECT_THAT(text(randn({2, 3, 4}), randn({3, 4, 5})), AllOf(HasSubstr("(2)"), HasSubstr("(3)")));
  EXPECT_THAT(text(randn({}), randn({4})), HasSubstr("at least one dimension"));
  EXPECT_THAT(text(randn({3, 4}), randn({4, 5}, {.dtype = DType::f64})),
              AllOf(HasSubstr("f32"), HasSubstr("f64"), HasSubstr(".to(dtype)")));
  EXPECT_THAT(text(ones({3, 4}, {.dtype = DType::i64}), ones({4, 5}, {.dtype = DType::i64})),
              HasSubstr("i64"));
}

TEST(Linear, IsMatmulAndBias) {
  for (const Shape& shape : {Shape{7, 5}, Shape{5}, Shape{2, 3, 5}, Shape{0, 5}, Shape{128, 5}}) {
    const Tensor x = leaf(shape), w = leaf({4, 5}), b = leaf({4});
    const Tensor y = linear(x, w, b);
    EXPECT_TRUE(near(y, matmul(x.detach(), w.detach().t()) + b.detach(), 1e-14)) << shape;
    EXPECT_TRUE(near(linear(x, w), matmul(x.detach(), w.detach().t()), 1e-14)) << shape;
    const auto g = autograd::grad({y.sum()}, {x, w, b});
    EXPECT_EQ(g[0].shape(), shape);
    const double rows = static_cast<double>(x.numel()) / 5;
    EXPECT_THAT(g[2].to_doubles(), Each(rows));
  }
}

TEST(Linear, GradientsAgreeWithDifferencesTwice) {
  const auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{linear(in[0], in[1], in[2])};
  };
  for (const Shape& shape : {Shape{3, 5}, Shape{5}, Shape{2, 2, 5}, Shape{0, 5}}) {
    EXPECT_EQ(autograd::gradcheck(f, {leaf(shape), leaf({4, 5}), leaf({4})}), "") << shape;
    EXPECT_EQ(autograd::gradgradcheck(f, {leaf(shape), leaf({4, 5}), leaf({4})}, testing::twice()),
              "")
        << shape;
  }
}

TEST(Linear, ErrorsNameBothShapes) {
  const Tensor x = randn({3, 5}), w = randn({4, 6});
  EXPECT_THAT(thrown_text([&] { linear(x, w); }), AllOf(HasSubstr("(3, 5)"), HasSubstr("(4, 6)")));
  EXPECT_THAT(thrown_text([&] {
                linear(x, randn({4, 5}), randn({5}));
              }),
              AllOf(HasSubstr("bias (5)"), HasSubstr("expected (4)")));
  EXPECT_THAT(thrown_text([&] { linear(x, randn({5})); }), HasSubstr("(out, in)"));
}

TEST(Gemm, TheLibraryStaysAtOneThread) {
  if (testing::on_gpus()) GTEST_SKIP() << "a library of the host";
  matmul(randn({8, 8}, {.dtype = DType::f64}), randn({8, 8}, {.dtype = DType::f64}));
  EXPECT_EQ(openblas_get_num_threads(), 1) << "each device has its own share of the cores";
}

// A BLAS that is not thread-safe gives wrong results here within a few hundred calls.
TEST(Gemm, ThreadsMayMultiplyAtOnce) {
  const auto work = [](int seed) {
    const ContextScope scope([](Context& c) {
      c.threads = 1;
      c.path = KernelPath::native;
    });
    const Tensor a = full({64, 64}, seed + 1, {.dtype = DType::f64}),
                 b = full({64, 64}, 0.5, {.dtype = DType::f64});
    const std::vector<double> wanted(64 * 64, (seed + 1) * 32.0);
    int wrong = 0;
    for (int i = 0; i < 1000; ++i)
      wrong += matmul(a, b).to_doubles() != wanted;
    EXPECT_EQ(wrong, 0);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(work, i);
  for (std::thread& t : threads)
    t.join();
}

}  // namespace
}  // namespace tandem
