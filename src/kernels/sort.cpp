// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/sort.hpp"

#include <algorithm>
#include <array>

#include "kernels/map.hpp"
#include "kernels/sort.inl"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kMaxSelected = 16;  // kept in order while a line is read

/// One line of x and where its indices go.
template <class T>
struct TopLine {
  Ranking ranking;
  std::int64_t n, k, x_step, y_step;

  /// By insertion.
  void few(const T* x, std::int64_t* y) const {
    std::array<Ranked<T>, kMaxSelected> best;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const Ranked<T> next{x[i * x_step], i};
      if (count == k && !before(ranking, next, best[static_cast<std::size_t>(k - 1)])) continue;
      auto at = static_cast<std::size_t>(count < k ? count++ : k - 1);
      for (; at > 0 && before(ranking, next, best[at - 1]); --at)
        best[at] = best[at - 1];
      best[at] = next;
    }
    for (std::int64_t i = 0; i < k; ++i)
      y[i * y_step] = best[static_cast<std::size_t>(i)].index;
  }

  /// @param all  room for n.
  void many(const T* x, std::int64_t* y, Ranked<T>* all) const {
    for (std::int64_t i = 0; i < n; ++i)
      all[i] = {x[i * x_step], i};
    const auto order = [this](const Ranked<T>& a, const Ranked<T>& b) {
      return before(ranking, a, b);
    };
    if (k < n) std::nth_element(all, all + k, all + n, order);
    std::sort(all, all + k, order);
    for (std::int64_t i = 0; i < k; ++i)
      y[i * y_step] = all[i].index;
  }
};

template <class T>
void top_lines(const HostStream& s, Ranking ranking, int dim, const View& x, const View& y) {
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  KernelPlan plan = make_kernel_plan({&vy, &vx});
  plan = select_dims(plan, (1U << plan.ndim) - 1);
  const TopLine<T> line{ranking, x.shape[dim], y.shape[dim], x.strides[dim], y.strides[dim]};
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / 4 / line.n);
  const std::int64_t tiles = tile_count(s, plan.numel, grain);
  const bool few = line.k <= kMaxSelected;
  const Workspace<Ranked<T>> room(s.device, few ? 0 : tiles * line.n);
  if (!s.computes) return;
  for_each_tile(s, tiles, [&](std::int64_t t) {
    const std::int64_t begin = plan.numel * t / tiles, end = plan.numel * (t + 1) / tiles;
    Cursor at(plan, begin);
    for (std::int64_t i = begin; i < end; ++i, at.next()) {
      const T* from = x.as<const T>() + at.offset(1);
      std::int64_t* to = y.as<std::int64_t>() + at.offset(0);
      if (few)
        line.few(from, to);
      else
        line.many(from, to, room.data() + t * line.n);
    }
  });
}

}  // namespace

void topk(const HostStream& s, Ranking ranking, int dim, const View& x, const View& y) {
  if (y.numel() == 0) return;
  with_dtype(x.dtype, [&]<class T>() { top_lines<T>(s, ranking, dim, x, y); });
}

}  // namespace tandem::kernels
