// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/product_table.hpp"

#include <gtest/gtest.h>

#include "kernels/onednn/fast_path.hpp"

namespace tandem::kernels {
namespace {

constexpr MatrixLayout kRows{MatrixOrder::row_major, 64}, kColumns{MatrixOrder::column_major, 64};

TEST(ProductTable, FormIsThatOfBlas) {
  EXPECT_EQ(product_form(kRows, kRows), ProductForm::nn);
  EXPECT_EQ(product_form(kRows, kColumns), ProductForm::nt);
  EXPECT_EQ(product_form(kColumns, kRows), ProductForm::tn);
  EXPECT_EQ(product_form(kColumns, kColumns), ProductForm::tn);
}

TEST(ProductTable, FirstSizeThatFitsDecides) {
  EXPECT_EQ(product_size(2, {1, 1, 1}), ProductSize::batched);
  EXPECT_EQ(product_size(1, {1, 512, 8}), ProductSize::vector);
  EXPECT_EQ(product_size(1, {512, 1, 1024}), ProductSize::vector);
  EXPECT_EQ(product_size(1, {512, 512, 31}), ProductSize::short_sum);
  EXPECT_EQ(product_size(1, {31, 31, 32}), ProductSize::few_rows);
  EXPECT_EQ(product_size(1, {32, 31, 32}), ProductSize::few_columns);
  EXPECT_EQ(product_size(1, {32, 32, 32}), ProductSize::large);
}

// oneDNN 2.6 has for AVX2 a kernel that does not copy its factors, and reads a transposed one at
// half the rate of OpenBLAS; for AVX-512 it has none.
TEST(ProductTable, GradientsOfLayersGoToTheLibraryThatIsFastOnTheProcessor) {
  for (const auto& [capability, wanted] : {std::pair{CpuCapability::avx2, ProductLibrary::openblas},
                                           std::pair{CpuCapability::avx512, ProductLibrary::onednn},
                                           std::pair{CpuCapability::amx, ProductLibrary::onednn}}) {
    for (const ProductRates& row : product_table(capability)) {
      if (row.size != ProductSize::large || row.form == ProductForm::nt) continue;
      EXPECT_EQ(row.faster(), wanted) << name(capability) << ' ' << name(row.form);
    }
  }
}

TEST(ProductTable, ThisProcessTakesTheTableOfItsProcessor) {
  if (!onednn::is_linked()) GTEST_SKIP() << "there is one library";
  for (const ProductRates& row : product_table(get_cpu_capability()))
    EXPECT_EQ(product_library(row.form, row.size), row.faster());
}

}  // namespace
}  // namespace tandem::kernels
