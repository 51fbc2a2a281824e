// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/index.hpp"

#include <cstring>

#include "kernels/map.hpp"

namespace tandem::kernels {
namespace {

// Steps within a row of the plan's operands.
struct Steps {
  std::int64_t y;
  std::int64_t index;
  std::int64_t x;
};

template <class T>
struct Gather {
  Steps step;
  std::int64_t stride;  // of the looked-up dimension

  void operator()(std::int64_t n, T* y, const std::int64_t* index, const T* x) const {
    if (step.index == 0 && step.y == 1 && step.x == 1) {  // a whole row of one entry
      std::memcpy(y, x + *index * stride, static_cast<std::size_t>(n) * sizeof(T));
      return;
    }
    for (std::int64_t i = 0; i < n; ++i)
      y[i * step.y] = x[i * step.x + index[i * step.index] * stride];
  }
};

template <class T>
struct ScatterAdd {
  Steps step;
  std::int64_t stride;

  void operator()(std::int64_t n, const T* x, const std::int64_t* index, T* y) const {
    if (step.index == 0 && step.y == 1 && step.x == 1) {
      T* row = y + *index * stride;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < n; ++i)
        row[i] = static_cast<T>(row[i] + x[i]);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      T& to = y[i * step.y + index[i * step.index] * stride];
      to = static_cast<T>(to + x[i * step.x]);
    }
  }
};

template <class T>
void gather_bits(const HostStream& s, int dim, const View& x, const View& index, const View& y) {
  const View source = without_step(x, dim, y.shape);
  const KernelPlan plan = make_kernel_plan({&y, &index, &source});
  if (plan.numel == 0) return;
  const Gather<T> row{{plan.inner_stride(0), plan.inner_stride(1), plan.inner_stride(2)},
                      x.strides[dim]};
  const std::int64_t rows = plan.numel / plan.inner();
  for_each_range(s,
                 rows,
                 std::max<std::int64_t>(1, kGrain / plan.inner()),
                 [&](std::int64_t begin, std::int64_t end) {
                   Cursor at(plan, begin);
                   for (std::int64_t i = begin; i < end; ++i, at.next()) {
                     row(plan.inner(),
                         y.as<T>() + at.offset(0),
                         index.as<const std::int64_t>() + at.offset(1),
                         x.as<const T>() + at.offset(2));
                   }
                 });
}

}  // namespace

void find_outside(const HostStream&,
                  const View& index,
                  std::int64_t low,
                  std::int64_t high,
                  std::int64_t ignored,
                  const View& found) {
  const std::int64_t n = index.numel();
  Shape position = Shape::filled(index.shape.size(), 0);
  std::int64_t offset = 0;
  *found.as<std::int64_t>() = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t value = index.as<const std::int64_t>()[offset];
    if ((value < low || value >= high) && value != ignored) {
      *found.as<std::int64_t>() = i;
      return;
    }
    for (int d = index.shape.size() - 1; d >= 0; --d) {
      offset += index.strides[d];
      if (++position[d] < index.shape[d]) break;
      offset -= index.strides[d] * index.shape[d];
      position[d] = 0;
    }
  }
}

void gather(const HostStream& s, int dim, const View& x, const View& index, const View& y) {
  switch (itemsize(x.dtype)) {
    case 1:
      return gather_bits<std::uint8_t>(s, dim, x, index, y);
    case 2:
      return gather_bits<std::uint16_t>(s, dim, x, index, y);
    case 4:
      return gather_bits<std::uint32_t>(s, dim, x, index, y);
    default:
      return gather_bits<std::uint64_t>(s, dim, x, index, y);
  }
}

void scatter_add(const HostStream&, int dim, const View& x, const View& index, const View& y) {
  const View target = without_step(y, dim, x.shape);
  // Row-major whatever the layout: entries that meet add up in one order.
  View order = x;
  order.strides = contiguous_strides(x.shape);
  const KernelPlan plan = make_kernel_plan({&order, &index, &x, &target});
  if (plan.numel == 0) return;
  with_dtype(y.dtype, [&]<class T>() {
    const ScatterAdd<T> row{{plan.inner_stride(3), plan.inner_stride(1), plan.inner_stride(2)},
                            y.strides[dim]};
    Cursor at(plan, 0);
    for (std::int64_t i = 0; i < plan.numel; i += plan.inner(), at.next()) {
      row(plan.inner(),
          x.as<const T>() + at.offset(2),
          index.as<const std::int64_t>() + at.offset(1),
          y.as<T>() + at.offset(3));
    }
  });
}

}  // namespace tandem::kernels
