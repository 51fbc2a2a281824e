// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/attention.inl"
#include "kernels/unpacked_gemm.hpp"

// One head of attention on the host: its matrices, and a block of its scores.
namespace tandem::kernels {

/// Queries whose products are made together, each time with the keys that one of them sees: two
/// tiles of unpacked_gemm.
inline constexpr std::int64_t kQueryTile = 2 * kTileRows;
inline constexpr std::int64_t kQueryBlock = 4 * kQueryTile;
inline constexpr std::int64_t kKeyBlock = 512;

/// A matrix with dense rows.
template <class T>
struct HeadRows {
  T* data = nullptr;
  std::int64_t step = 0;

  T* row(std::int64_t i) const { return data + i * step; }
  /// From row `i` on, as a factor or a sum of unpacked_gemm.
  StridedOperand<std::remove_const_t<T>> left(std::int64_t i) const { return {row(i), step, 1}; }
  Rows<T> from(std::int64_t i) const { return {row(i), step}; }
};

/// The matrix of one head of (batch, heads, sequence, dim).
template <class T>
HeadRows<T> rows_of(const View& x, std::int64_t batch, std::int64_t head) {
  // A single row may have any stride; BLAS wants one that holds it.
  const std::int64_t step = x.shape[2] == 1 ? x.shape[3] : x.strides[2];
  return {x.as<T>() + batch * x.strides[0] + head * x.strides[1], step};
}

/// Queries [begin, begin + rows) against keys [key, key + cols).
struct Block {
  std::int64_t begin, rows, key, cols;
};

template <class T>
struct Head {
  const Attention& a;
  std::int64_t batch, head, queries, keys;
  std::int64_t dim, value_dim;
  HeadRows<const T> q, k, v;

  Head(const Attention& attention, std::int64_t index)
      : a(attention),
        batch(index / a.q.shape[1]),
        head(index % a.q.shape[1]),
        queries(a.q.shape[2]),
        keys(a.k.shape[2]),
        dim(a.q.shape[3]),
        value_dim(a.v.shape[3]),
        q(rows_of<const T>(a.q, batch, head)),
        k(rows_of<const T>(a.k, batch, head)),
        v(rows_of<const T>(a.v, batch, head)) {}

  /// Keys that some query of [begin, end) sees.
  std::int64_t seen(std::int64_t end) const { return a.causal ? std::min(keys, end) : keys; }

  /// Columns of the block that query `i` sees.
  std::int64_t width(const Block& b, std::int64_t i) const {
    return a.causal ? std::clamp<std::int64_t>(b.begin + i - b.key + 1, 0, b.cols) : b.cols;
  }

  /// The tile of queries from `begin` on against keys [key, key + cols), as far as one of them sees
  /// a key.
  Block tile(std::int64_t begin, std::int64_t end, std::int64_t key, std::int64_t cols) const {
    const std::int64_t rows = std::min(kQueryTile, end - begin);
    return {begin, rows, key, std::clamp<std::int64_t>(seen(begin + rows) - key, 0, cols)};
  }

  /// to = q @ k.t() of the block, up to whole vectors of its columns. @param kt  the keys,
  /// transposed.
  void product(const Block& b, Rows<const T> kt, Rows<T> to) const {
    unpacked_gemm<T>({b.rows, whole_vectors<T>(b.cols), dim}, q.left(b.begin), kt, {}, to);
  }

  /// Row `i` of the block: scaled and masked, as far as it is seen.
  void finish_row(const Block& b, std::int64_t i, T* s) const {
    const std::int64_t n = width(b, i), end = whole_vectors<T>(n);  // behind n nobody reads
    const T scale = static_cast<T>(a.scale);
    for (std::int64_t j = 0; j < end; ++j)
      s[j] *= scale;
    if (a.mask.data == nullptr) return;
    const Strides& step = a.mask.strides;
    const std::int64_t first =
        batch * step[0] + head * step[1] + (b.begin + i) * step[2] + b.key * step[3];
    if (a.mask.dtype == DType::boolean) {
      const bool* const m = a.mask.as<const bool>() + first;
      for (std::int64_t j = 0; j < n; ++j)
        s[j] = m[j * step[3]] ? s[j] : -std::numeric_limits<T>::infinity();
    } else {
      const T* const m = a.mask.as<const T>() + first;
      for (std::int64_t j = 0; j < n; ++j)
        s[j] += m[j * step[3]];
    }
  }

  /// to = the probabilities of row `i` that dropout keeps, scaled up.
  void drop_row(
      const AttentionDrop& drop, const Block& b, std::int64_t i, const T* p, T* to) const {
    const std::int64_t n = width(b, i);  // b.key is a multiple of a Philox block
    const T scale = static_cast<T>(drop.scale);
    for (std::int64_t j = 0; j < n; j += AttentionDrop::kWords) {
      const auto words = drop.words(batch, head, b.begin + i, (b.key + j) / AttentionDrop::kWords);
      for (std::int64_t w = 0; w < AttentionDrop::kWords && j + w < n; ++w)
        to[j + w] = words.v[w] < drop.threshold ? T(0) : p[j + w] * scale;
    }
    std::fill(to + n, to + b.cols, T(0));
  }
};

}  // namespace tandem::kernels
