// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>

#include "kernels/cuda/map.hpp"
#include "kernels/cumsum.hpp"
#include "kernels/cumsum.inl"
#include "kernels/workspace.hpp"

// A line is cut into about as many chunks as a chunk has elements: each is added up by one thread,
// then the chunks' totals, then each chunk is written from where the one before it ends.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kMinChunk = 32;

template <class T>
struct ScanChunks {
  Places<2> places;  // y, x
  std::int64_t depth, chunk;
  Divisor chunks;
  std::int64_t x_step, y_step;
  const T* x;  // at the first element of the first line
  T* y;
  Total<T>* totals;  // (lines, chunks)

  TANDEM_HD std::int64_t last(std::int64_t first) const {
    return first + chunk < depth ? first + chunk : depth;
  }
};

template <class T>
struct SumChunk : ScanChunks<T> {
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, at] = this->chunks.split(i);
    const Place<2> place = this->places(line);
    const std::int64_t first = at * this->chunk;
    Total<T> total = 0;
    for (std::int64_t k = first; k < this->last(first); ++k)
      total += static_cast<Total<T>>(this->x[place.at[1] + k * this->x_step]);
    this->totals[i] = total;
  }
};

/// Each total becomes that of the chunks before it.
template <class T>
struct ScanTotals {
  std::int64_t chunks;
  Total<T>* totals;
  TANDEM_HD void operator()(std::int64_t line) const {
    Total<T> before = 0;
    for (std::int64_t c = line * chunks; c < (line + 1) * chunks; ++c) {
      const Total<T> own = totals[c];
      totals[c] = before;
      before += own;
    }
  }
};

template <class T>
struct WriteChunk : ScanChunks<T> {
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, at] = this->chunks.split(i);
    const Place<2> place = this->places(line);
    const std::int64_t first = at * this->chunk;
    Total<T> total = this->totals == nullptr ? Total<T>(0) : this->totals[i];
    for (std::int64_t k = first; k < this->last(first); ++k) {
      total += static_cast<Total<T>>(this->x[place.at[1] + k * this->x_step]);
      this->y[place.at[0] + k * this->y_step] = static_cast<T>(total);
    }
  }
};

}  // namespace

void cumsum(const CudaStream& s, CumsumFrom from, int dim, const View& x, const View& y) {
  if (x.numel() == 0) return;
  const ScanLines of(from, dim, x, y);
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(of.depth)));
  const std::int64_t chunk = std::max(kMinChunk, root);
  const std::int64_t chunks = (of.depth + chunk - 1) / chunk;
  const std::int64_t lines = of.plan.numel;
  with_scan(y.dtype, [&]<class T>() {
    const Workspace<Total<T>> totals(s.device, chunks > 1 ? lines * chunks : 0);
    const ScanChunks<T> all{Places<2>(of.plan),
                            of.depth,
                            chunk,
                            Divisor(chunks),
                            of.x_step,
                            of.y_step,
                            x.as<const T>() + of.x_first,
                            y.as<T>() + of.y_first,
                            chunks > 1 ? totals.data() : nullptr};
    if (chunks > 1) {
      for_each(s, lines * chunks, SumChunk<T>{all});
      for_each(s, lines, ScanTotals<T>{chunks, totals.data()});
    }
    for_each(s, lines * chunks, WriteChunk<T>{all});
  });
}

}  // namespace tandem::kernels
