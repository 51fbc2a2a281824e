// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/product_table.hpp"

#include "kernels/onednn/fast_path.hpp"

namespace tandem::kernels {
namespace {

using Table = std::array<ProductRates, kProductRows>;
using enum ProductForm;
using enum ProductSize;

#include "kernels/product_table.inl"

constexpr std::size_t kSizes = kProductRows / 3;

constexpr std::size_t place(ProductForm form, ProductSize size) {
  return static_cast<std::size_t>(form) * kSizes + static_cast<std::size_t>(size);
}

/// Rows stand where `place` looks for them.
constexpr bool is_in_order(const Table& table) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (place(table[i].form, table[i].size) != i) return false;
  return true;
}
static_assert(is_in_order(kBaseline) && is_in_order(kAvx2) && is_in_order(kAvx512));

const Table& table_of(CpuCapability capability) noexcept {
  if (capability >= CpuCapability::avx512) return kAvx512;
  return capability == CpuCapability::avx2 ? kAvx2 : kBaseline;
}

}  // namespace

std::string_view name(ProductForm form) noexcept {
  constexpr std::array<std::string_view, 3> kNames{"nn", "nt", "tn"};
  return kNames[static_cast<std::size_t>(form)];
}

std::string_view name(ProductSize size) noexcept {
  constexpr std::array<std::string_view, kSizes> kNames{
      "batched", "vector", "short_sum", "few_rows", "few_columns", "large"};
  return kNames[static_cast<std::size_t>(size)];
}

std::string_view name(ProductLibrary library) noexcept {
  return library == ProductLibrary::onednn ? "onednn" : "openblas";
}

ProductForm product_form(MatrixLayout a, MatrixLayout b) noexcept {
  if (a.order == MatrixOrder::column_major) return tn;
  return b.order == MatrixOrder::column_major ? nt : nn;
}

ProductSize product_size(std::int64_t count, GemmSize size) noexcept {
  if (count > 1) return batched;
  if (size.m == 1 || size.n == 1) return vector;
  if (size.k < kThin) return short_sum;
  if (size.m < kThin) return few_rows;
  return size.n < kThin ? few_columns : large;
}

std::span<const ProductRates, kProductRows> product_table(CpuCapability capability) noexcept {
  return table_of(capability);
}

ProductLibrary product_library(ProductForm form, ProductSize size) noexcept {
  if (!onednn::is_linked()) return ProductLibrary::openblas;
  static const Table& table = table_of(get_cpu_capability());
  return table[place(form, size)].faster();
}

}  // namespace tandem::kernels
