// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/dtype.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (const DType t : {DType::f32,
                        DType::f64,
                        DType::bf16,
                        DType::f16,
                        DType::i32,
                        DType::i64,
                        DType::u8,
                        DType::boolean}) {
    EXPECT_EQ(parse_dtype(name(t)), t);
    with_dtype(t, [&]<class T>() { EXPECT_EQ(sizeof(T), itemsize(t)); });
  }
  EXPECT_THROW(parse_dtype("float"), InvalidArgument);
}

TEST(DTypeTest, PromotionFollowsTheLattice) {
  EXPECT_EQ(promote(DType::boolean, DType::u8), DType::u8);
  EXPECT_EQ(promote(DType::i64, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::f64, DType::f32), DType::f64);
  EXPECT_EQ(promote(DType::i64, DType::bf16), DType::bf16);
  EXPECT_EQ(promote(DType::f32, DType::f16), DType::f32);
  EXPECT_EQ(promote(DType::bf16, DType::f16), DType::f32) << "neither holds the other";
}

TEST(DTypeTest, FloatsOf16BitsAreComputedInF32) {
  EXPECT_EQ(compute_dtype(DType::bf16), DType::f32);
  EXPECT_EQ(compute_dtype(DType::f64), DType::f64);
  with_any_float(DType::f16, []<class T>() {
    EXPECT_EQ(dtype_of<T>(), DType::f16);
    EXPECT_EQ(dtype_of<compute_t<T>>(), DType::f32);
  });
  EXPECT_THROW(with_float(DType::bf16, []<class T>() {}), InvalidArgument);
}

TEST(DTypeTest, WithFloatRefusesIntegers) {
  EXPECT_THROW(with_float(DType::i64, []<class T>() {}), InvalidArgument);
}

}  // namespace
}  // namespace tandem
