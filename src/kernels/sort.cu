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
  Places<2> places;  // y, x at the starts of lines
  std::int64_t n, k, x_step, y_step;
  const T* x;
  std::int64_t* y;

  TANDEM_HD Ranked<T> element(std::int64_t line, std::int64_t i) const {
    return {x[places(line).at[1] + i * x_step], i};
  }
  TANDEM_HD std::int64_t& index(std::int64_t line, std::int64_t i) const {
    return y[places(line).at[0] + i * y_step];
  }
};

/// The first of a line, of those after the one of `round` - 1.
template <class T>
struct SelectNext {
  using Total = Ranked<T>;
  TopLines<T> lines;
  std::int64_t round;

  struct Run {
    const SelectNext& of;
    const T* x;
    Ranked<T> last, first;  // chosen before; of those after it
    TANDEM_HD Total load(std::int64_t i) const { return {x[i * of.lines.x_step], i}; }
    template <int kCount>
    TANDEM_HD void add(const Total (&values)[kCount]) {
      for (const Total& own : values)
        if (last.index < 0 || before(of.lines.ranking, last, own)) first = of.join(first, own);
    }
    TANDEM_HD Total total() const { return first; }
  };
  TANDEM_HD Run run(std::int64_t line) const {
    constexpr Ranked<T> kNone{T(0), -1};
    return {*this,
            lines.x + lines.places(line).at[1],
            round == 0 ? kNone : lines.element(line, lines.index(line, round - 1)),
            kNone};
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
  Divisor padded;
  Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, at] = padded.split(i);
    room[i] = at < lines.n ? lines.element(line, at) : Ranked<T>{T(0), -1};
  }
};

/// One exchange of a bitonic sorting network (Batcher, 1968).
template <class T>
struct Exchange {
  Ranking ranking;
  Divisor half;  // of a line
  std::int64_t size;
  Divisor distance;
  Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, pair] = half.split(i);
    const auto [run, in_run] = distance.split(pair);
    const std::int64_t at = run * (2 * distance.value()) + in_run;
    Ranked<T>* const a = room + line * (2 * half.value()) + at;
    Ranked<T>* const b = a + distance.value();
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
  Divisor k;
  std::int64_t padded;
  const Ranked<T>* room;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, at] = k.split(i);
    lines.index(line, at) = room[line * padded + at].index;
  }
};

template <class T>
void sort_lines(const CudaStream& s, std::int64_t count, const TopLines<T>& lines) {
  std::int64_t padded = 1;
  while (padded < lines.n)
    padded *= 2;
  const Workspace<Ranked<T>> room(s.device, count * padded);
  for_each(s, count * padded, LoadLine<T>{lines, Divisor(padded), room.data()});
  for (std::int64_t size = 2; size <= padded; size *= 2) {
    for (std::int64_t distance = size / 2; distance > 0; distance /= 2) {
      for_each(
          s,
          count * padded / 2,
          Exchange<T>{lines.ranking, Divisor(padded / 2), size, Divisor(distance), room.data()});
    }
  }
  for_each(s, count * lines.k, StoreHead<T>{lines, Divisor(lines.k), padded, room.data()});
}

}  // namespace

void topk(const CudaStream& s, Ranking ranking, int dim, const View& x, const View& y) {
  if (y.numel() == 0) return;
  const View vy = without_dim(y, dim), vx = without_dim(x, dim);
  const KernelPlan plan = make_kernel_plan({&vy, &vx});
  with_dtype(x.dtype, [&]<class T>() {
    const TopLines<T> lines{ranking,
                            Places<2>(plan),
                            x.shape[dim],
                            y.shape[dim],
                            x.strides[dim],
                            y.strides[dim],
                            x.as<const T>(),
                            y.as<std::int64_t>()};
    if (lines.k > kMaxSelected) return sort_lines(s, plan.numel, lines);
    for (std::int64_t round = 0; round < lines.k; ++round)
      reduce_each(s, plan.numel, lines.n, walk_of(lines.x_step), SelectNext<T>{lines, round});
  });
}

}  // namespace tandem::kernels
