// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/core/dtype.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (const DType t : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::boolean}) {
    EXPECT_EQ(parse_dtype(name(t)), t);
    with_dtype(t, [&]<class T>() { EXPECT_EQ(sizeof(T), itemsize(t)); });
  }
  EXPECT_THROW(parse_dtype("float"), InvalidArgument);
}

TEST(DTypeTest, PromotionFollowsTheLattice) {
  EXPECT_EQ(promote(DType::boolean, DType::u8), DType::u8);
  EXPECT_EQ(promote(DType::i64, DType::f32), DType::f32);
  EXPECT_EQ(promote(DType::f64, DType::f32), DType::f64);
}

TEST(DTypeTest, WithFloatRefusesIntegers) {
  EXPECT_THROW(with_float(DType::i64, []<class T>() {}), InvalidArgument);
}

}  // namespace
}  // namespace tandem
