// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/for_each.hpp"
#include "kernels/lane_sum.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

constexpr std::int64_t kBlockRows = 64;  // rows that a partial sum of dweight takes up

/// Weight or bias in the type of the arithmetic; `otherwise` where there is none.
template <class A, class T>
std::vector<A> per_channel(const View& v, std::int64_t channels, A otherwise) {
  if (v.data == nullptr) return std::vector<A>(static_cast<std::size_t>(channels), otherwise);
  const T* const from = v.as<const T>();
  return std::vector<A>(from, from + channels);
}

/// Calls f(tile, begin, end) for ranges of rows; see row_tiles.
template <class F>
void for_row_tiles(const HostStream& s, std::int64_t tiles, std::int64_t rows, const F& f) {
  if (tiles == 1) return f(0, 0, rows);
  for_each_tile(s, tiles, [&](std::int64_t t) { f(t, rows * t / tiles, rows * (t + 1) / tiles); });
}

std::int64_t row_tiles(const HostStream& s, const RowLayout& l) {
  return std::clamp<std::int64_t>(tile_count(s, l.rows * l.length, kGrain), 1, l.rows);
}

template <class A, class T>
void normalise_row(
    const RowLayout& l, const T* x, const A* weight, const A* bias, A mean, A rstd, T* y) {
  if (l.inner == 1) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < l.length; ++i)
      y[i] = static_cast<T>((static_cast<A>(x[i]) - mean) * rstd * weight[i] + bias[i]);
    return;
  }
  for (std::int64_t c = 0; c < l.row_channels(); ++c) {
    const T* const from = x + c * l.inner;
    T* const to = y + c * l.inner;
    const A scale = rstd * weight[c], shift = bias[c];
#pragma GCC ivdep
    for (std::int64_t i = 0; i < l.inner; ++i)
      to[i] = static_cast<T>((static_cast<A>(from[i]) - mean) * scale + shift);
  }
}

/// One row of a backward pass.
template <class T, class A>
struct GradRow {
  const RowLayout& l;
  const T* dy;
  const T* x;
  const A* weight;
  A mean, rstd;

  A centred(std::int64_t i) const { return static_cast<A>(x[i]) - mean; }

  /// Sums of g and of g * (x - mean).
  std::pair<A, A> sums() const {
    return lane_sums<A>(l.length, [&](std::int64_t i) {
      const A g = static_cast<A>(dy[i]) * weight[i];
      return std::pair<A, A>(g, g * centred(i));
    });
  }

  /// The same from the channels' sums, which go on to `dw` and `db` where they are asked for.
  std::pair<A, A> channel_sums(double* dw, double* db) const {
    A total = 0, product = 0;
    for (std::int64_t c = 0; c < l.row_channels(); ++c) {
      const std::int64_t first = c * l.inner;
      const auto [sum, moment] = lane_sums<A>(l.inner, [&](std::int64_t i) {
        const A d = static_cast<A>(dy[first + i]);
        return std::pair<A, A>(d, d * centred(first + i));
      });
      total += weight[c] * sum;
      product += weight[c] * moment;
      if (dw == nullptr) continue;
      dw[c] += static_cast<double>(moment * rstd);
      db[c] += static_cast<double>(sum);
    }
    return {total, product};
  }

  void add_parameter_grads(A* dw, A* db) const {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < l.length; ++i) {
      const A d = static_cast<A>(dy[i]);
      dw[i] += d * (centred(i) * rstd);
      db[i] += d;
    }
  }

  void input_grad(std::pair<A, A> sums, T* dx) const {
    const A n = static_cast<A>(l.length);
    const A offset = sums.first / n, slope = sums.second * rstd * rstd / n;
    for (std::int64_t c = 0; c < (l.inner == 1 ? 1 : l.row_channels()); ++c) {
      const std::int64_t first = c * l.inner, count = l.inner == 1 ? l.length : l.inner;
      const A* const w = weight + c;
      const auto run = [&](auto weight_of) {
#pragma GCC ivdep
        for (std::int64_t i = first; i < first + count; ++i) {
          dx[i] = static_cast<T>(
              rstd * (static_cast<A>(dy[i]) * weight_of(i) - offset - centred(i) * slope));
        }
      };
      if (l.inner == 1)
        run([w](std::int64_t i) { return w[i]; });
      else
        run([scale = *w](std::int64_t) { return scale; });
    }
  }
};

/// Adds blocks of rows up, and these in f64.
template <class A>
class ParameterSums {
 public:
  explicit ParameterSums(std::int64_t channels, double* to)
      : part_(static_cast<std::size_t>(2 * channels)), channels_(channels), to_(to) {
    std::fill_n(to, 2 * channels, 0.0);
  }
  template <class Row>
  void add(const Row& row) {
    row.add_parameter_grads(part_.data(), part_.data() + channels_);
    if (++rows_ == kBlockRows) flush();
  }
  void flush() {
    for (std::size_t i = 0; i < part_.size(); ++i) {
      to_[i] += static_cast<double>(part_[i]);
      part_[i] = 0;
    }
    rows_ = 0;
  }

 private:
  std::vector<A> part_;
  std::int64_t channels_, rows_ = 0;
  double* to_;
};

/// Gradients of rows [begin, end). @param sums  dweight, dbias of all channels; null: not wanted.
template <class T, class A>
void grad_rows(const RowLayout& l,
               std::int64_t begin,
               std::int64_t end,
               const GradRow<T, A>& all,
               const A* mean,
               const A* rstd,
               T* dx,
               double* sums) {
  const bool elements = l.inner == 1 && l.groups == 1;
  std::optional<ParameterSums<A>> parts;
  if (sums != nullptr) parts.emplace(l.channels(), sums);
  for (std::int64_t r = begin; r < end; ++r) {
    GradRow<T, A> row = all;
    const std::int64_t first = r % l.groups * l.row_channels();
    row.dy += r * l.length;
    row.x += r * l.length;
    row.weight += first;
    row.mean = mean[r];
    row.rstd = rstd[r];
    std::pair<A, A> totals;
    if (elements) {
      totals = row.sums();
      if (parts) parts->add(row);
    } else {
      totals = row.channel_sums(sums == nullptr ? nullptr : sums + first,
                                sums == nullptr ? nullptr : sums + l.channels() + first);
    }
    if (dx != nullptr) row.input_grad(totals, dx + r * l.length);
  }
  if (parts && elements) parts->flush();
}

}  // namespace

void row_norm(const HostStream& s,
              const RowLayout& l,
              double eps,
              const View& x,
              const View& weight,
              const View& bias,
              const View& y,
              const View& mean,
              const View& rstd) {
  if (l.rows == 0) return;
  with_float(x.dtype, [&]<class T>() {
    using A = T;
    const std::vector<A> scale = per_channel<A, T>(weight, l.channels(), A(1));
    const std::vector<A> shift = per_channel<A, T>(bias, l.channels(), A(0));
    for_row_tiles(
        s, row_tiles(s, l), l.rows, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
          for (std::int64_t r = begin; r < end; ++r) {
            const T* const from = x.as<const T>() + r * l.length;
            const A n = static_cast<A>(l.length);
            const A m =
                lane_sum<A>(l.length, [&](std::int64_t i) { return static_cast<A>(from[i]); }) / n;
            const A squares = lane_sum<A>(l.length, [&](std::int64_t i) {
              const A d = static_cast<A>(from[i]) - m;
              return d * d;
            });
            const A scatter = A(1) / std::sqrt(squares / n + static_cast<A>(eps));
            mean.as<A>()[r] = m;
            rstd.as<A>()[r] = scatter;
            const std::int64_t first = r % l.groups * l.row_channels();
            normalise_row<A>(l,
                             from,
                             scale.data() + first,
                             shift.data() + first,
                             m,
                             scatter,
                             y.as<T>() + r * l.length);
          }
        });
  });
}

void row_norm_grad(const HostStream& s,
                   const RowLayout& l,
                   const View& dy,
                   const View& x,
                   const View& weight,
                   const View& mean,
                   const View& rstd,
                   const RowNormGrads& grads) {
  with_float(x.dtype, [&]<class T>() {
    using A = T;
    const bool wanted = grads.dweight.data != nullptr;
    const std::int64_t width = 2 * l.channels(), tiles = l.rows == 0 ? 0 : row_tiles(s, l);
    const Workspace<double> parts(s.device, wanted ? tiles * width : 0);
    if (!s.computes) return;
    const std::vector<A> scale = per_channel<A, T>(weight, l.channels(), A(1));
    const GradRow<T, A> all{l, dy.as<const T>(), x.as<const T>(), scale.data(), A(0), A(0)};
    if (tiles > 0) {
      for_row_tiles(s, tiles, l.rows, [&](std::int64_t t, std::int64_t begin, std::int64_t end) {
        grad_rows<T, A>(l,
                        begin,
                        end,
                        all,
                        mean.as<const A>(),
                        rstd.as<const A>(),
                        grads.dx.as<T>(),
                        wanted ? parts.data() + t * width : nullptr);
      });
    }
    if (!wanted) return;
    for (std::int64_t c = 0; c < width; ++c) {
      double total = 0;
      for (std::int64_t t = 0; t < tiles; ++t)
        total += parts.data()[t * width + c];
      const View& to = c < l.channels() ? grads.dweight : grads.dbias;
      to.as<T>()[c % l.channels()] = static_cast<T>(total);
    }
  });
}

}  // namespace tandem::kernels
