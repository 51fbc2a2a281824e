// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "tandem/runtime/cpu_capability.hpp"

#include "kernels/gemm.hpp"

// Which library carries out a product of f32 on the host. The choice is made from a table by form
// and sizes alone, so that it is the same in every run and on all threads.
namespace tandem::kernels {

/// How the factors lie in memory, in the words of BLAS: n as it is written, t transposed. Of a
/// layer, forward is nt, the gradient of its input nn, and that of its weight tn.
enum class ProductForm : std::uint8_t { nn, nt, tn };

/// What of the sizes decides; the first that fits.
enum class ProductSize : std::uint8_t {
  batched,      ///< several products
  vector,       ///< m or n is 1
  short_sum,    ///< k below kThin
  few_rows,     ///< m below kThin
  few_columns,  ///< n below kThin
  large,
};
inline constexpr std::int64_t kThin = 32;

enum class ProductLibrary : std::uint8_t { onednn, openblas };

/// A row of the table: rates of one thread, in GFLOP/s, the geometric mean over some products of
/// that form and size (bench/ops/product_table.cpp).
struct ProductRates {
  ProductForm form;
  ProductSize size;
  float onednn;
  float openblas;

  ProductLibrary faster() const noexcept {
    return onednn >= openblas ? ProductLibrary::onednn : ProductLibrary::openblas;
  }
};
inline constexpr std::size_t kProductRows = 18;

std::string_view name(ProductForm form) noexcept;
std::string_view name(ProductSize size) noexcept;
std::string_view name(ProductLibrary library) noexcept;

ProductForm product_form(MatrixLayout a, MatrixLayout b) noexcept;
ProductSize product_size(std::int64_t count, GemmSize size) noexcept;

/// The rows for a processor; those of AVX-512 also for what is above it.
std::span<const ProductRates, kProductRows> product_table(CpuCapability capability) noexcept;
/// The library that this process takes. Costs a look into a table.
ProductLibrary product_library(ProductForm form, ProductSize size) noexcept;

}  // namespace tandem::kernels
