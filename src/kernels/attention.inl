// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Functors of attention, for both backends.
#pragma once

#include <limits>

#include "kernels/attention.hpp"
#include "kernels/divisor.hpp"
#include "kernels/exp.inl"
#include "kernels/random.inl"

namespace tandem::kernels {

/// Which probabilities are dropped. A row of the batch has a run of words for each query of a head.
struct AttentionDrop {
  static constexpr std::int64_t kWords = 4;  // of a Philox block
  std::uint64_t key = 0;
  std::int64_t first_row = 0;
  std::uint32_t threshold = 0;  // a word below it drops
  double scale = 1;
  std::int64_t queries = 0, blocks = 0;  // blocks of a query

  AttentionDrop(double p, const DropoutKey& k, std::int64_t queries_, std::int64_t keys)
      : key(p > 0 ? wide(philox(k.seed, k.forward, k.path_hash), 0) : 0),
        first_row(k.first_row),
        threshold(static_cast<std::uint32_t>(p * 0x1p32)),
        scale(1 / (1 - p)),
        queries(queries_),
        blocks((keys + kWords - 1) / kWords) {}

  /// Words of keys [4 * block, 4 * block + 4).
  TANDEM_HD philox4x32_ctr_t words(std::int64_t row,
                                   std::int64_t head,
                                   std::int64_t query,
                                   std::int64_t block) const {
    const std::int64_t place = (head * queries + query) * blocks + block;
    return philox(
        key, static_cast<std::uint64_t>(first_row + row), static_cast<std::uint64_t>(place));
  }
  TANDEM_HD double factor(std::int64_t row,
                          std::int64_t head,
                          std::int64_t query,
                          std::int64_t k) const {
    return words(row, head, query, k / kWords).v[k % kWords] < threshold ? 0.0 : scale;
  }
};

template <class T>
struct KeepElement {
  AttentionDrop drop;
  Divisor heads, queries, keys;
  T* keep;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, key] = keys.split(i);
    const auto [matrix, query] = queries.split(line);
    const auto [row, head] = heads.split(matrix);
    keep[i] = static_cast<T>(drop.factor(row, head, query, key));
  }
};

template <class S>
void attention_keep(const S& s, double p, const DropoutKey& key, const View& keep) {
  const Shape& n = keep.shape;
  with_float(keep.dtype, [&]<class T>() {
    for_each(s,
             keep.numel(),
             KeepElement<T>{AttentionDrop(p, key, n[2], n[3]),
                            Divisor(n[1]),
                            Divisor(n[2]),
                            Divisor(n[3]),
                            keep.as<T>()});
  });
}

}  // namespace tandem::kernels
