// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/copy.hpp"

#include <cstring>

#include "kernels/copy.inl"
#include "kernels/map.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kSquareSide = 32;  // a square of doubles is a quarter of the first cache

// The dimension along which the input is dense, where the output is dense along another; else -1.
int transposed_dim(const KernelPlan& plan) {
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

  // A band of up to kSquareSide rows. Each square goes through a local copy: strides of a power of
  // two would have its lines evict each other from the cache before they are used up.
  void operator()(const T* x, T* y, std::int64_t first) const {
    T square[kSquareSide][kSquareSide + 1];
    const std::int64_t height = std::min(rows - first, kSquareSide);
    for (std::int64_t c0 = 0; c0 < columns; c0 += kSquareSide) {
      const std::int64_t width = std::min(columns - c0, kSquareSide);
      for (std::int64_t c = 0; c < width; ++c) {
        for (std::int64_t r = 0; r < height; ++r)
          square[r][c] = x[(c0 + c) * x_stride + first + r];
      }
      for (std::int64_t r = 0; r < height; ++r) {
        for (std::int64_t c = 0; c < width; ++c)
          y[(first + r) * y_stride + c0 + c] = square[r][c];
      }
    }
  }
};

template <class T>
void copy_transposed(const HostStream& s, const KernelPlan& plan, int d, const T* x, T* y) {
  const auto at = static_cast<std::size_t>(d);
  const Transpose<T> transpose{
      plan.sizes[at], plan.inner(), plan.strides[0][at], plan.inner_stride(1)};
  const KernelPlan outer = select_dims(plan, ~(1U << d | 1U << (plan.ndim - 1)));
  const std::int64_t bands = (transpose.rows + kSquareSide - 1) / kSquareSide;
  const std::int64_t squares = plan.numel / (transpose.rows * transpose.columns);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (kSquareSide * transpose.columns));
  for_each_range(s, bands * squares, grain, [&](std::int64_t begin, std::int64_t end) {
    Cursor square(outer, begin / bands);
    for (std::int64_t i = begin; i < end; ++i) {
      transpose(x + square.offset(1), y + square.offset(0), i % bands * kSquareSide);
      if (i % bands == bands - 1) square.next();
    }
  });
}

// Bits of one size, whatever they mean.
template <class T>
void copy_bits(const HostStream& s, const KernelPlan& plan, const View& x, const View& y) {
  if (plan.ndim == 1 && plan.inner_stride(0) == 1 && plan.inner_stride(1) == 1) {
    for_each_range(s, plan.numel, kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(
          y.as<T>() + begin, x.as<T>() + begin, static_cast<std::size_t>(end - begin) * sizeof(T));
    });
    return;
  }
  const int d = transposed_dim(plan);
  if (d >= 0) return copy_transposed(s, plan, d, x.as<const T>(), y.as<T>());
  detail::map_by_plan(s, Convert<T>{}, plan, std::index_sequence<0>{}, y.as<T>(), x.as<const T>());
}

}  // namespace

void copy(const HostStream& s, const View& x, const View& y) {
  if (!s.computes) return;
  if (x.dtype != y.dtype) {
    return with_dtype(x.dtype, [&]<class From>() {
      with_dtype(y.dtype, [&]<class To>() { map<To, From>(s, Convert<To>{}, y, x); });
    });
  }
  const KernelPlan plan = make_kernel_plan({&y, &x});
  if (plan.numel == 0) return;
  switch (itemsize(x.dtype)) {
    case 1:
      return copy_bits<std::uint8_t>(s, plan, x, y);
    case 2:
      return copy_bits<std::uint16_t>(s, plan, x, y);
    case 4:
      return copy_bits<std::uint32_t>(s, plan, x, y);
    default:
      return copy_bits<std::uint64_t>(s, plan, x, y);
  }
}

}  // namespace tandem::kernels
