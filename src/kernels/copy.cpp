// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"

#include <cstring>

#include "kernels/copy.inl"
#include "kernels/elementwise.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kBlock = 32;  // a square of doubles is a quarter of the first cache

// The dimension along which the input is dense, where the output is dense along another; else -1.
int transposed_dim(const Plan& plan) {
  if (plan.inner_stride(0) != 1 || plan.inner_stride(1) == 1 || plan.inner_stride(1) == 0)
    return -1;
  for (int d = plan.ndim - 2; d >= 0; --d) {
    if (plan.strides[1][static_cast<std::size_t>(d)] == 1) return d;
  }
  return -1;
}

template <class T>
struct Transpose {
  std::int64_t rows;      // along which x is dense
  std::int64_t columns;   // along which y is dense
  std::int64_t y_stride;  // between rows
  std::int64_t x_stride;  // between columns

  // A band of up to kBlock rows.
  void operator()(const T* x, T* y, std::int64_t first) const {
    const std::int64_t last = std::min(rows, first + kBlock);
    for (std::int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const std::int64_t c1 = std::min(columns, c0 + kBlock);
      for (std::int64_t r = first; r < last; ++r) {
        for (std::int64_t c = c0; c < c1; ++c)
          y[r * y_stride + c] = x[c * x_stride + r];
      }
    }
  }
};

// Without the dimensions `d` and the last.
Plan outer_plan(const Plan& plan, int d) {
  Plan outer = plan;
  outer.ndim = 0;
  for (int i = 0; i < plan.ndim - 1; ++i) {
    if (i == d) continue;
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(outer.ndim++);
    outer.sizes[to] = plan.sizes[from];
    outer.strides[0][to] = plan.strides[0][from];
    outer.strides[1][to] = plan.strides[1][from];
  }
  // A row of one element: then rows are the elements of the outer dimensions.
  outer.sizes[static_cast<std::size_t>(outer.ndim++)] = 1;
  return outer;
}

template <class T>
void copy_transposed(const HostStream& s, const Plan& plan, int d, const T* x, T* y) {
  const auto at = static_cast<std::size_t>(d);
  const Transpose<T> transpose{
      plan.sizes[at], plan.inner(), plan.strides[0][at], plan.inner_stride(1)};
  const Plan outer = outer_plan(plan, d);
  const std::int64_t bands = (transpose.rows + kBlock - 1) / kBlock;
  const std::int64_t squares = plan.numel / (transpose.rows * transpose.columns);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (kBlock * transpose.columns));
  for_each_range(s, bands * squares, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t square = i / bands;
      transpose(
          x + outer.row_offset(1, square), y + outer.row_offset(0, square), i % bands * kBlock);
    }
  });
}

// Bits of one size, whatever they mean.
template <class T>
void copy_bits(const HostStream& s, const Plan& plan, const View& x, const View& y) {
  if (plan.ndim == 1 && plan.inner_stride(0) == 1 && plan.inner_stride(1) == 1) {
    for_each_range(s, plan.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(
          y.as<T>() + begin, x.as<T>() + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    });
    return;
  }
  const int d = transposed_dim(plan);
  if (d >= 0) return copy_transposed(s, plan, d, x.as<const T>(), y.as<T>());
  detail::map_plan(s, Convert<T>{}, plan, std::index_sequence<0>{}, y.as<T>(), x.as<const T>());
}

}  // namespace

void copy(const HostStream& s, const View& x, const View& y) {
  if (x.dtype != y.dtype) {
    return with_dtype(x.dtype, [&]<class From>() {
      with_dtype(y.dtype, [&]<class To>() { map<To, From>(s, Convert<To>{}, y, x); });
    });
  }
  const Plan plan = make_plan({&y, &x});
  if (plan.numel == 0) return;
  switch (itemsize(x.dtype)) {
    case 1:
      return copy_bits<std::uint8_t>(s, plan, x, y);
    case 4:
      return copy_bits<std::uint32_t>(s, plan, x, y);
    default:
      return copy_bits<std::uint64_t>(s, plan, x, y);
  }
}

}  // namespace tandem::kernels
