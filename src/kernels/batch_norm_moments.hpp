// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "kernels/batch_norm.hpp"
#include "kernels/batch_norm.inl"

// Sums per channel for batch norm: a block of a few kilobytes in the tensor's type, blocks joined
// in f64.
namespace tandem::kernels {

/// Joins `part` into `total`: count, means, squares of all channels.
inline void join_moments(std::int64_t channels, const double* part, double* total) {
  for (std::int64_t c = 0; c < channels; ++c) {
    Moments m{total[0], total[1 + c], total[1 + channels + c]};
    m.join(part[0], part[1 + c], part[1 + channels + c]);
    total[1 + c] = m.mean;
    total[1 + channels + c] = m.squares;
  }
  total[0] += part[0];
}

/// Affine map of one channel.
template <class T>
struct Centre {
  T mean, scale, bias;
};

/// Rows of a block: it stays in the first-level cache between the two passes, and sums in f32 stay
/// exact enough.
inline std::int64_t block_rows(std::int64_t row_bytes) {
  constexpr std::int64_t kBlockBytes = 16 * 1024;
  return std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(1, row_bytes), 8, 256);
}

/// Calls f.template operator()<L>(first channel) for runs of L channels that cover [0, channels).
template <class F>
void for_lanes(std::int64_t channels, F f) {
  std::int64_t c = 0;
  for (; c + 32 <= channels; c += 32)
    f.template operator()<32>(c);
  for (; c + 8 <= channels; c += 8)
    f.template operator()<8>(c);
  for (; c < channels; ++c)
    f.template operator()<1>(c);
}

/// Moments of `rows` rows of L channels: the mean first, then squares about it, with the rounding
/// of the mean put right by the sum of differences.
template <int L, class T>
void block_moments(const T* x,
                   std::int64_t stride,
                   std::int64_t rows,
                   std::array<double, L>& mean,
                   std::array<double, L>& squares) {
  std::array<T, L> sum{}, centre, rest{}, square{};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < L; ++i)
      sum[i] += x[r * stride + static_cast<std::int64_t>(i)];
  }
  for (std::size_t i = 0; i < L; ++i)
    centre[i] = sum[i] / static_cast<T>(rows);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < L; ++i) {
      const T d = x[r * stride + static_cast<std::int64_t>(i)] - centre[i];
      rest[i] += d;
      square[i] += d * d;
    }
  }
  const double n = static_cast<double>(rows);
  for (std::size_t i = 0; i < L; ++i) {
    const double correction = static_cast<double>(rest[i]) / n;
    mean[i] = static_cast<double>(centre[i]) + correction;
    squares[i] = static_cast<double>(square[i]) - correction * correction * n;
  }
}

/// Moments of rows [begin, end) of a (rows, channels) matrix into `out`: count, means, squares.
template <class T>
void row_moments(
    const T* x, std::int64_t channels, std::int64_t begin, std::int64_t end, double* out) {
  const std::int64_t most = block_rows(channels * static_cast<std::int64_t>(sizeof(T)));
  std::fill_n(out, 1 + 2 * channels, 0.0);
  for (std::int64_t row = begin; row < end; row += most) {
    const std::int64_t rows = std::min(most, end - row);
    for_lanes(channels, [&]<int L>(std::int64_t c) {
      std::array<double, L> mean, squares;
      block_moments<L>(x + row * channels + c, channels, rows, mean, squares);
      for (std::size_t i = 0; i < L; ++i) {
        double* const place = out + 1 + c + static_cast<std::int64_t>(i);
        Moments m{out[0], place[0], place[channels]};
        m.join(static_cast<double>(rows), mean[i], squares[i]);
        place[0] = m.mean;
        place[channels] = m.squares;
      }
    });
    out[0] += static_cast<double>(rows);
  }
}

/// Calls f(offset, length) for blocks of the planes of channel `c`.
template <class F>
void for_plane_blocks(const NormLayout& l, std::int64_t c, F f) {
  constexpr std::int64_t kBlock = 2048;
  for (std::int64_t n = 0; n < l.outer; ++n) {
    const std::int64_t plane = (n * l.channels + c) * l.inner;
    for (std::int64_t i = 0; i < l.inner; i += kBlock)
      f(plane + i, std::min(kBlock, l.inner - i));
  }
}

/// Calls f(element, lane) for elements [0, n), so that neighbours have different lanes: independent
/// sums.
template <std::size_t kLanes, class F>
void for_each_lane(std::int64_t n, F f) {
  constexpr auto kStep = static_cast<std::int64_t>(kLanes);
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      f(i + static_cast<std::int64_t>(lane), lane);
  }
  for (; i < n; ++i)
    f(i, 0);
}

template <class T, std::size_t kLanes>
double total_of(const std::array<T, kLanes>& lanes) {
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

inline constexpr std::size_t kPlaneLanes = 32;

/// Moments of channel `c` where its planes lie together.
template <class T>
Moments plane_moments(const NormLayout& l, const T* x, std::int64_t c) {
  Moments total;
  for_plane_blocks(l, c, [&](std::int64_t at, std::int64_t n) {
    std::array<T, kPlaneLanes> sum{}, rest{}, square{};
    for_each_lane<kPlaneLanes>(n,
                               [&](std::int64_t i, std::size_t lane) { sum[lane] += x[at + i]; });
    const double count = static_cast<double>(n);
    const T centre = static_cast<T>(total_of(sum) / count);
    for_each_lane<kPlaneLanes>(n, [&](std::int64_t i, std::size_t lane) {
      const T d = x[at + i] - centre;
      rest[lane] += d;
      square[lane] += d * d;
    });
    const double correction = total_of(rest) / count;
    total.join(count,
               static_cast<double>(centre) + correction,
               total_of(square) - correction * correction * count);
  });
  return total;
}

/// Sums of dy and dy * (x - mean) over rows [begin, end), added to out. @param centred  (centre, x,
/// dy) -> (dy, x - mean).
template <class T, class Centred>
void row_sums(const T* x,
              const T* dy,
              std::int64_t channels,
              std::int64_t begin,
              std::int64_t end,
              const T* mean,
              const T* scale,
              const T* bias,
              Centred centred,
              double* out) {
  const std::int64_t most = block_rows(channels * static_cast<std::int64_t>(sizeof(T)));
  for (std::int64_t row = begin; row < end; row += most) {
    const std::int64_t rows = std::min(most, end - row);
    for_lanes(channels, [&]<int L>(std::int64_t c) {
      std::array<T, L> sum{}, product{};
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (row + r) * channels + c;
        for (std::size_t i = 0; i < L; ++i) {
          const std::int64_t k = c + static_cast<std::int64_t>(i),
                             e = at + static_cast<std::int64_t>(i);
          const auto [d, x0] = centred(Centre<T>{mean[k], scale[k], bias[k]}, x[e], dy[e]);
          sum[i] += d;
          product[i] += d * x0;
        }
      }
      for (std::size_t i = 0; i < L; ++i) {
        out[c + static_cast<std::int64_t>(i)] += static_cast<double>(sum[i]);
        out[channels + c + static_cast<std::int64_t>(i)] += static_cast<double>(product[i]);
      }
    });
  }
}

/// The same sums of channel `c` where its planes lie together.
template <class T, class Centred>
std::pair<double, double> plane_sums(const NormLayout& l,
                                     const T* x,
                                     const T* dy,
                                     std::int64_t c,
                                     const Centre<T>& centre,
                                     Centred centred) {
  double total = 0, total_product = 0;
  for_plane_blocks(l, c, [&](std::int64_t at, std::int64_t n) {
    std::array<T, kPlaneLanes> sum{}, product{};
    for_each_lane<kPlaneLanes>(n, [&](std::int64_t i, std::size_t lane) {
      const auto [d, x0] = centred(centre, x[at + i], dy[at + i]);
      sum[lane] += d;
      product[lane] += d * x0;
    });
    total += total_of(sum);
    total_product += total_of(product);
  });
  return {total, total_product};
}

}  // namespace tandem::kernels
