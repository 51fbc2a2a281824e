// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cumsum.hpp"

#include <array>

#include "kernels/cumsum.inl"
#include "kernels/map.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kBlockLines = 256;  // lines that are added up side by side

/// `n` lines next to each other, each `depth` long. Steps: between lines and along them.
template <class T>
void scan_columns(std::int64_t n,
                  std::int64_t depth,
                  const T* x,
                  std::int64_t x_next,
                  std::int64_t x_step,
                  T* y,
                  std::int64_t y_next,
                  std::int64_t y_step) {
  std::array<Total<T>, kBlockLines> totals{};
  for (std::int64_t k = 0; k < depth; ++k, x += x_step, y += y_step) {
#pragma GCC ivdep
    for (std::int64_t c = 0; c < n; ++c) {
      totals[static_cast<std::size_t>(c)] += static_cast<Total<T>>(x[c * x_next]);
      y[c * y_next] = static_cast<T>(totals[static_cast<std::size_t>(c)]);
    }
  }
}

template <class T>
void scan(const HostStream& s, const ScanLines& of, const T* x, T* y) {
  const KernelPlan& plan = of.plan;
  const bool along = of.x_step == 1 || of.x_step == -1;  // a line lies in one piece
  const std::int64_t width = along ? 1 : std::min(kBlockLines, plan.inner());
  const std::int64_t blocks = (plan.inner() + width - 1) / width;
  const std::int64_t rows = plan.numel / plan.inner();
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (width * of.depth));
  for_each_range(s, rows * blocks, grain, [&](std::int64_t begin, std::int64_t end) {
    Cursor at(plan, begin / blocks);
    std::int64_t block = begin % blocks;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = block * width;
      scan_columns(std::min(width, plan.inner() - first),
                   of.depth,
                   x + of.x_first + at.offset(1) + first * plan.inner_stride(1),
                   plan.inner_stride(1),
                   of.x_step,
                   y + of.y_first + at.offset(0) + first * plan.inner_stride(0),
                   plan.inner_stride(0),
                   of.y_step);
      if (++block < blocks) continue;
      block = 0;
      at.next();
    }
  });
}

}  // namespace

void cumsum(const HostStream& s, CumsumFrom from, int dim, const View& x, const View& y) {
  if (x.numel() == 0) return;
  const ScanLines of(from, dim, x, y);
  with_scan(y.dtype, [&]<class T>() { scan(s, of, x.as<const T>(), y.as<T>()); });
}

}  // namespace tandem::kernels
