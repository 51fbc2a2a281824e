// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/cuda/map.hpp"
#include "kernels/sort.hpp"
#include "kernels/sort.inl"
#include "kernels/workspace.hpp"

// A few elements are chosen one after the other, each by a reduction over those that come after the
// one chosen before; many are the head of the sorted line.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kMaxSelected = 16;

template <class T>
struct TopLines {
  Ranking ranking;
  KernelPlan plan;  // y, x at the starts of lines
  std::int64_t n, k, x_step, y_step;
  const T* x;
  std::int64_t* y;

  TANDEM_HD Ranked<T> element(std::int64_t line, std::int64_t i) const {
    return {x[detail::Place<2>(plan, line).at[1] + i * x_step], i};
  }
  TANDEM_HD std::int64_t& index(std::int64_t line, std::int64_t i) const {
    return y[detail::Place<2>(plan, line).at[0] + i * y_step];
  }
};

/// The first of a line, of those after the one of `round` - 1.
template <class T>
struct SelectNext {
  using Total = Ranked<T>;
  TopLines<T> lines;
  std::int64_t round;

  TANDEM_HD Total total() const { return {T(0), -1}; }
  TANDEM_HD Total at(std::int64_t line, std::int64_t i) const {
    const Ranked<T> own = lines.element(line, i);
    if (round == 0) return own;
    const Ranked<T> last = lines.element(line, lines.index(line, round - 1));
    return before(lines.ranking, last, own) ? own : total();
  }
  TANDEM_HD Total join(Total a, Total b) const { return before(lines.ranking, b, a) ? b : a; }
  TANDEM_HD void store(std::int64_t line, Total first) const {
    lines.index(line, round) = first.index;
  }
};

/// Lines filled up to a power of two, as they are sorted.
template <class T>
struct LoadLine {
  TopLines<T> lines;
  std::int64_t padded;
  Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t at = i % padded;
    room[i] = at < lines.n ? lines.element(i / padded, at) : Ranked<T>{T(0), -1};
  }
};

/// One exchange of a bitonic sorting network (Batcher, 1968).
template <class T>
struct Exchange {
  Ranking ranking;
  std::int64_t padded, size, distance;
  Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t half = padded / 2, pair = i % half;
    const std::int64_t at = pair / distance * (2 * distance) + pair % distance;
    Ranked<T>* const a = room + i / half * padded + at;
    Ranked<T>* const b = a + distance;
    const bool ascending = (at & size) == 0;
    if (ascending ? !before(ranking, *b, *a) : !before(ranking, *a, *b)) return;
    const Ranked<T> old = *a;
    *a = *b;
    *b = old;
  }
};

template <class T>
struct StoreHead {
  TopLines<T> lines;
  std::int64_t padded;
  const Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t line = i / lines.k, at = i % lines.k;
    lines.index(line, at) = room[line * padded + at].index;
  }
};

template <class T>
void sort_lines(const CudaStream& s, const TopLines<T>& lines) {
  std::int64_t padded = 1;
  while (padded < lines.n)
    padded *= 2;
  const std::int64_t count = lines.plan.numel;
  const Workspace<Ranked<T>> room(s.device, count * padded);
  for_each(s, count * padded, LoadLine<T>{lines, padded, room.data()});
  for (std::int64_t size = 2; size <= padded; size *= 2) {
    for (std::int64_t distance = size / 2; distance > 0; distance /= 2) {
      for_each(
          s, count * padded / 2, Exchange<T>{lines.ranking, padded, size, distance, room.data()});
    }
  }
  for_each(s, count * lines.k, StoreHead<T>{lines, padded, room.data()});
}

}  // namespace

void topk(const CudaStream& s, Ranking ranking, int dim, const View& x, const View& y) {
  if (y.numel() == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  const KernelPlan plan = make_kernel_plan({&vy, &vx});
  with_dtype(x.dtype, [&]<class T>() {
    const TopLines<T> lines{ranking,
                            plan,
                            x.shape[dim],
                            y.shape[dim],
                            x.strides[dim],
                            y.strides[dim],
                            x.as<const T>(),
                            y.as<std::int64_t>()};
    if (lines.k > kMaxSelected) return sort_lines(s, lines);
    const Walk walk = lines.x_step == 1 ? Walk::along : Walk::across;
    for (std::int64_t round = 0; round < lines.k; ++round)
      reduce_each(s, plan.numel, lines.n, walk, SelectNext<T>{lines, round});
  });
}

}  // namespace tandem::kernels
