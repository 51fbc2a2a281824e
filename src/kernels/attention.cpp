// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/attention.hpp"

#include <cmath>

#include "kernels/attention_head.hpp"
#include "kernels/lane_sum.hpp"
#include "kernels/pack_columns.hpp"
#include "kernels/widened_attention.hpp"
#include "kernels/workspace.hpp"

// Dao et al., "FlashAttention", NeurIPS 2022: the softmax of a row is kept up to date while its
// blocks of keys go by. A thread has one block of scores.
namespace tandem::kernels {
namespace {

/// The softmax of the rows of one block of queries, so far.
template <class T>
struct Online {
  std::array<T, kQueryBlock> most, total;

  Online() {
    most.fill(-std::numeric_limits<T>::infinity());
    total.fill(T(0));
  }

  /// s = exp(s - the largest so far), zero from `width` on; as far as whole lanes of a sum have the
  /// `cols` columns.
  /// @return  what earlier outputs of the row are multiplied with.
  T add(std::size_t i, std::int64_t width, std::int64_t cols, T* s) {
    const std::int64_t end = whole_lanes(cols);
    std::fill(s + width, s + end, -std::numeric_limits<T>::infinity());
    const T largest = std::max(most[i], lane_max(end, s));
    const T base = largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
    const T share = bounded_exp(most[i] - base);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < end; ++j)
      s[j] = bounded_exp(s[j] - base);
    total[i] = total[i] * share + lane_sum<T>(end, [s](std::int64_t j) { return s[j]; });
    most[i] = largest;
    return share;
  }
};

/// Columns of a thread's blocks: a block of keys, with room for zeros behind the last that is seen.
std::int64_t block_width(const Attention& a) {
  const std::int64_t keys = std::min(kKeyBlock, std::max<std::int64_t>(1, a.k.shape[2]));
  return whole_lanes(keys + kQueryTile);
}

std::int64_t tiles_for(const HostStream& s, const Attention& a, std::int64_t items) {
  const std::int64_t work = a.q.numel() * a.k.shape[2];
  return std::clamp<std::int64_t>(tile_count(s, work, 64 * kGrain), 1, items);
}

/// Calls f(item, workspace) for items in [0, n), on the threads of `s`, each with a workspace of
/// `each` elements.
template <class T, class F>
void for_items(
    const HostStream& s, const Attention& a, std::int64_t n, std::int64_t each, const F& f) {
  if (n == 0) return;
  const std::int64_t tiles = tiles_for(s, a, n);
  const Workspace<T> workspace(s.device, tiles * each);
  if (!s.computes) return;
  const auto run = [&](std::int64_t t) {
    for (std::int64_t i = n * t / tiles; i < n * (t + 1) / tiles; ++i)
      f(i, workspace.data() + t * each);
  };
  if (tiles == 1) return run(0);
  for_each_tile(s, tiles, run);
}

/// One block of queries. Its workspace has a block of keys, transposed, and a tile of scores.
template <class T>
struct Forward {
  const Head<T>& h;
  const AttentionDrop& drop;
  HeadRows<T> out;
  T* lse;
  std::int64_t width;  ///< of the workspace's rows
  T *keys, *scores;

  static std::int64_t workspace(const Attention& a) {
    return (a.q.shape[3] + kQueryTile) * block_width(a);
  }

  void tile(const Block& b, std::int64_t first, Online<T>& online) const {
    h.product(b, {keys, width}, {scores, width});
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T* const row = scores + i * width;
      h.finish_row(b, i, row);
      const T share = online.add(static_cast<std::size_t>(first + i), h.width(b, i), b.cols, row);
      if (h.a.dropout > 0) h.drop_row(drop, b, i, row, row);
      T* const to = out.row(b.begin + i);
      for (std::int64_t d = 0; b.key > 0 && d < h.value_dim; ++d)
        to[d] *= share;
    }
    const Rows<T> to = out.from(b.begin);
    unpacked_gemm<T>({b.rows, h.value_dim, b.cols},
                     StridedOperand<T>{scores, width, 1},
                     h.v.from(b.key),
                     b.key > 0 ? Rows<const T>{to.data, to.ld} : Rows<const T>{},
                     to);
  }

  void run(std::int64_t begin) const {
    const std::int64_t end = std::min(begin + kQueryBlock, h.queries), seen = h.seen(end);
    Online<T> online;
    for (std::int64_t key = 0; key < seen; key += kKeyBlock) {
      const std::int64_t cols = std::min(kKeyBlock, seen - key);
      pack_columns<T>(h.k.from(key), cols, h.dim, {keys, width}, whole_vectors<T>(cols));
      for (std::int64_t i = begin; i < end; i += kQueryTile) {
        const Block b = h.tile(i, end, key, cols);
        if (b.cols > 0) tile(b, i - begin, online);
      }
    }
    for (std::int64_t i = begin; i < end; ++i)
      finish(i, online, static_cast<std::size_t>(i - begin));
  }

  void finish(std::int64_t i, const Online<T>& online, std::size_t at) const {
    const bool any = online.total[at] > 0 || online.total[at] != online.total[at];
    const T factor = any ? T(1) / online.total[at] : T(0);
    T* const to = out.row(i);
    for (std::int64_t d = 0; d < h.value_dim; ++d)
      to[d] = any ? to[d] * factor : T(0);
    lse[i] =
        any ? online.most[at] + std::log(online.total[at]) : std::numeric_limits<T>::infinity();
  }
};

/// The gradients of one head; its blocks of scores are made again. Its workspace has a block of
/// keys and one of values, both transposed, and blocks of queries by keys.
template <class T>
struct Backward {
  const Head<T>& h;
  const AttentionDrop& drop;
  HeadRows<const T> out, dout;
  const T* lse;
  HeadRows<T> dq, dk, dv;
  std::int64_t width;  ///< of the workspace's rows
  T *keys, *values;
  T *p, *ds, *dropped;  ///< blocks; `dropped` is `p` where nothing is dropped

  static std::int64_t blocks(const Attention& a) { return a.dropout > 0 ? 3 : 2; }
  static std::int64_t workspace(const Attention& a) {
    return (a.q.shape[3] + a.v.shape[3] + blocks(a) * kQueryBlock) * block_width(a);
  }

  /// Behind the last key that a tile sees stand zeros, for the keys that are taken together.
  std::int64_t filled(const Block& b) const {
    const std::int64_t tiles = (b.cols + kQueryTile - 1) / kQueryTile * kQueryTile;
    return std::min(width, std::max(whole_vectors<T>(b.cols), tiles));
  }

  void probabilities(const Block& b, T* prob, T* left) const {
    h.product(b, {keys, width}, {prob, width});
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T* const row = prob + i * width;
      h.finish_row(b, i, row);
      const std::int64_t seen = h.width(b, i);
      const T base = lse[b.begin + i];
      const std::int64_t end = whole_vectors<T>(seen);
#pragma GCC ivdep
      for (std::int64_t j = 0; j < end; ++j)
        row[j] = bounded_exp(row[j] - base);
      std::fill(row + seen, row + filled(b), T(0));
      if (h.a.dropout == 0) continue;
      T* const to = left + i * width;
      h.drop_row(drop, b, i, row, to);
      std::fill(to + b.cols, to + filled(b), T(0));
    }
  }

  /// ds = p * (dp * keep - delta) * scale, in place of dp.
  void score_grad(const Block& b, const T* delta, const T* prob, const T* left, T* to) const {
    const T scale = static_cast<T>(h.a.scale), keep = static_cast<T>(drop.scale);
    for (std::int64_t i = 0; i < b.rows; ++i, prob += width, left += width, to += width) {
      const T mean = delta[i];
      const std::int64_t end = whole_vectors<T>(b.cols);
      if (h.a.dropout > 0) {
        for (std::int64_t j = 0; j < b.cols; ++j)
          to[j] = prob[j] * ((left[j] != T(0) ? to[j] * keep : T(0)) - mean) * scale;
      } else {
#pragma GCC ivdep
        for (std::int64_t j = 0; j < end; ++j)
          to[j] = prob[j] * (to[j] - mean) * scale;
      }
      std::fill(to + b.cols, to + filled(b), T(0));
    }
  }

  /// sums += a @ b
  static void add(GemmSize size, StridedOperand<T> a, Rows<const T> b, Rows<T> sums) {
    unpacked_gemm<T>(size, a, b, Rows<const T>{sums.data, sums.ld}, sums);
  }

  /// Scores of a tile, from row `first` of the block on, and what follows for its queries.
  void tile(const Block& b, std::int64_t first, const T* delta) const {
    T *const prob = p + first * width, *const left = dropped + first * width;
    T* const grad = ds + first * width;
    probabilities(b, prob, left);
    unpacked_gemm<T>({b.rows, whole_vectors<T>(b.cols), h.value_dim},
                     dout.left(b.begin),
                     {values, width},
                     {},
                     {grad, width});
    score_grad(b, delta + first, prob, left, grad);
    add({b.rows, h.dim, b.cols}, {grad, width, 1}, h.k.from(b.key), dq.from(b.begin));
  }

  /// What follows for the block's keys: a few at a time, with the queries that see one of them.
  void add_to_keys(const Block& b) const {
    for (std::int64_t j = 0; j < b.cols; j += kQueryTile) {
      const std::int64_t n = std::min(kQueryTile, b.cols - j);
      const std::int64_t unseen = h.a.causal ? std::max<std::int64_t>(0, b.key + j - b.begin) : 0;
      const std::int64_t first = unseen / kQueryTile * kQueryTile, rows = b.rows - first;
      if (rows <= 0) continue;
      const std::int64_t at = first * width + j;
      add({n, h.value_dim, rows},
          {dropped + at, 1, width},
          dout.from(b.begin + first),
          dv.from(b.key + j));
      add({n, h.dim, rows}, {ds + at, 1, width}, h.q.from(b.begin + first), dk.from(b.key + j));
    }
  }

  void block(const Block& b) const {
    std::array<T, kQueryBlock> delta;
    for (std::int64_t i = 0; i < b.rows; ++i) {
      const T *const y = out.row(b.begin + i), *const dy = dout.row(b.begin + i);
      delta[static_cast<std::size_t>(i)] =
          lane_sum<T>(h.value_dim, [y, dy](std::int64_t d) { return y[d] * dy[d]; });
    }
    for (std::int64_t i = 0; i < b.rows; i += kQueryTile) {
      const Block part = h.tile(b.begin + i, b.begin + b.rows, b.key, b.cols);
      if (part.cols > 0) tile(part, i, delta.data());
    }
    add_to_keys(b);
  }

  void run() const {
    for (std::int64_t j = 0; j < h.keys; ++j) {
      std::fill_n(dk.row(j), h.dim, T(0));
      std::fill_n(dv.row(j), h.value_dim, T(0));
    }
    for (std::int64_t i = 0; i < h.queries; ++i)
      std::fill_n(dq.row(i), h.dim, T(0));
    for (std::int64_t key = 0; key < h.keys; key += kKeyBlock) {
      const std::int64_t cols = std::min(kKeyBlock, h.keys - key), end = whole_vectors<T>(cols);
      pack_columns<T>(h.k.from(key), cols, h.dim, {keys, width}, end);
      pack_columns<T>(h.v.from(key), cols, h.value_dim, {values, width}, end);
      for (std::int64_t begin = 0; begin < h.queries; begin += kQueryBlock) {
        const std::int64_t rows = std::min(kQueryBlock, h.queries - begin);
        const std::int64_t seen = std::min(cols, h.seen(begin + rows) - key);
        if (seen > 0) block({begin, rows, key, seen});
      }
    }
  }
};

}  // namespace

void attention(const HostStream& s, const Attention& a, const View& out, const View& lse) {
  if (is_float16(a.q.dtype)) return widened_attention(s, a, out, lse);
  const std::int64_t heads = a.q.shape[0] * a.q.shape[1], queries = a.q.shape[2];
  const std::int64_t blocks = (queries + kQueryBlock - 1) / kQueryBlock;
  const AttentionDrop drop(a.dropout, a.key, queries, a.k.shape[2]);
  with_float(a.q.dtype, [&]<class T>() {
    const std::int64_t width = block_width(a);
    for_items<T>(
        s, a, heads * blocks, Forward<T>::workspace(a), [&](std::int64_t item, T* workspace) {
          const Head<T> h(a, item / blocks);
          const Forward<T> forward{h,
                                   drop,
                                   rows_of<T>(out, h.batch, h.head),
                                   lse.as<T>() + item / blocks * queries,
                                   width,
                                   workspace,
                                   workspace + h.dim * width};
          forward.run(item % blocks * kQueryBlock);
        });
  });
}

void attention_grad(const HostStream& s,
                    const Attention& a,
                    const View& out,
                    const View& lse,
                    const View& dout,
                    const AttentionGrads& grads) {
  if (is_float16(a.q.dtype)) return widened_attention_grad(s, a, out, lse, dout, grads);
  const std::int64_t heads = a.q.shape[0] * a.q.shape[1], queries = a.q.shape[2];
  const AttentionDrop drop(a.dropout, a.key, queries, a.k.shape[2]);
  with_float(a.q.dtype, [&]<class T>() {
    const std::int64_t width = block_width(a);
    for_items<T>(s, a, heads, Backward<T>::workspace(a), [&](std::int64_t item, T* workspace) {
      const Head<T> h(a, item);
      T* const values = workspace + h.dim * width;
      T* const p = values + h.value_dim * width;
      T* const ds = p + kQueryBlock * width;
      const Backward<T> backward{h,
                                 drop,
                                 rows_of<const T>(out, h.batch, h.head),
                                 rows_of<const T>(dout, h.batch, h.head),
                                 lse.as<const T>() + item * queries,
                                 rows_of<T>(grads.dq, h.batch, h.head),
                                 rows_of<T>(grads.dk, h.batch, h.head),
                                 rows_of<T>(grads.dv, h.batch, h.head),
                                 width,
                                 workspace,
                                 values,
                                 p,
                                 ds,
                                 a.dropout > 0 ? ds + kQueryBlock * width : p};
      backward.run();
    });
  });
}

template void attention_keep(const HostStream&, double, const DropoutKey&, const View&);

}  // namespace tandem::kernels
