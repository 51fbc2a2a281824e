// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/attention.hpp"

#include <cmath>

#include "kernels/attention_head.hpp"
#include "kernels/lane_sum.hpp"
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

  /// s = exp(s - the largest so far), zero from `width` on.
  /// @return  what earlier outputs of the row are multiplied with.
  T add(std::size_t i, std::int64_t width, std::int64_t cols, T* s) {
    const T largest = std::max(most[i], lane_max(width, s));
    const T base = largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
    const T share = bounded_exp(most[i] - base);
#pragma GCC ivdep
    for (std::int64_t j = 0; j < width; ++j)
      s[j] = bounded_exp(s[j] - base);
    std::fill(s + width, s + cols, T(0));
    total[i] = total[i] * share + lane_sum<T>(width, [s](std::int64_t j) { return s[j]; });
    most[i] = largest;
    return share;
  }
};

/// Elements of a thread's blocks.
std::int64_t block_elements(const Attention& a) {
  return kQueryBlock * std::min(kKeyBlock, std::max<std::int64_t>(1, a.k.shape[2]));
}

std::int64_t tiles_for(const HostStream& s, const Attention& a, std::int64_t items) {
  const std::int64_t work = a.q.numel() * a.k.shape[2];
  return std::clamp<std::int64_t>(tile_count(s, work, 64 * kGrain), 1, items);
}

/// Calls f(item, workspace) for items in [0, n), on the threads of `s`.
template <class T, class F>
void for_items(
    const HostStream& s, const Attention& a, std::int64_t n, std::int64_t blocks, const F& f) {
  if (n == 0) return;
  const std::int64_t tiles = tiles_for(s, a, n), each = blocks * block_elements(a);
  const Workspace<T> workspace(s.device, tiles * each);
  if (!s.computes) return;
  const auto run = [&](std::int64_t t) {
    for (std::int64_t i = n * t / tiles; i < n * (t + 1) / tiles; ++i)
      f(i, workspace.data() + t * each);
  };
  if (tiles == 1) return run(0);
  for_each_tile(s, tiles, run);
}

template <class T>
void forward_block(const Head<T>& h,
                   const AttentionDrop& drop,
                   std::int64_t begin,
                   const HeadRows<T>& out,
                   T* lse,
                   T* s) {
  const std::int64_t rows = std::min(kQueryBlock, h.queries - begin);
  const std::int64_t keys = h.seen(begin + rows);
  Online<T> online;
  for (std::int64_t key = 0; key < keys; key += kKeyBlock) {
    const Block b{begin, rows, key, std::min(kKeyBlock, keys - key)};
    h.product(b, s);
    for (std::int64_t i = 0; i < rows; ++i) {
      T* const row = s + i * b.cols;
      h.finish_row(b, i, row);
      const T share = online.add(static_cast<std::size_t>(i), h.width(b, i), b.cols, row);
      if (h.a.dropout > 0) h.drop_row(drop, b, i, row, row);
      T* const to = out.row(begin + i);
      for (std::int64_t d = 0; key > 0 && d < h.value_dim; ++d)
        to[d] *= share;
    }
    gemm_serial<T>({rows, h.value_dim, b.cols},
                   {s, {MatrixOrder::row_major, b.cols}},
                   h.v.from(key),
                   key > 0 ? T(1) : T(0),
                   out.row(begin),
                   out.step);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool any = online.total[at] > 0 || online.total[at] != online.total[at];
    const T factor = any ? T(1) / online.total[at] : T(0);
    T* const to = out.row(begin + i);
    for (std::int64_t d = 0; d < h.value_dim; ++d)
      to[d] = any ? to[d] * factor : T(0);
    lse[begin + i] =
        any ? online.most[at] + std::log(online.total[at]) : std::numeric_limits<T>::infinity();
  }
}

/// The gradients of one head; its blocks of scores are made again.
template <class T>
struct Backward {
  const Head<T>& h;
  const AttentionDrop& drop;
  HeadRows<const T> out, dout;
  const T* lse;
  HeadRows<T> dq, dk, dv;
  T *p, *dropped, *ds;  // blocks

  void probabilities(const Block& b) const {
    h.product(b, p);
    for (std::int64_t i = 0; i < b.rows; ++i) {
      T* const row = p + i * b.cols;
      h.finish_row(b, i, row);
      const std::int64_t width = h.width(b, i);
      const T base = lse[b.begin + i];
#pragma GCC ivdep
      for (std::int64_t j = 0; j < width; ++j)
        row[j] = bounded_exp(row[j] - base);
      std::fill(row + width, row + b.cols, T(0));
      if (h.a.dropout > 0) h.drop_row(drop, b, i, row, dropped + i * b.cols);
    }
  }

  /// ds = p * (dp * keep - delta) * scale, in place of dp.
  void score_grad(const Block& b, const T* delta) const {
    const T scale = static_cast<T>(h.a.scale), keep = static_cast<T>(drop.scale);
    for (std::int64_t i = 0; i < b.rows; ++i) {
      const T *const prob = p + i * b.cols, *const left = dropped + i * b.cols;
      T* const to = ds + i * b.cols;
      const T mean = delta[i];
      if (h.a.dropout > 0) {
        for (std::int64_t j = 0; j < b.cols; ++j)
          to[j] = prob[j] * ((left[j] != T(0) ? to[j] * keep : T(0)) - mean) * scale;
        continue;
      }
#pragma GCC ivdep
      for (std::int64_t j = 0; j < b.cols; ++j)
        to[j] = prob[j] * (to[j] - mean) * scale;
    }
  }

  void block(const Block& b, const T* delta) const {
    probabilities(b);
    const auto operand = [&](const T* x) {
      return Operand<T>{x, {MatrixOrder::row_major, b.cols}};
    };
    const T* const weights = h.a.dropout > 0 ? dropped : p;
    gemm_serial<T>({b.cols, h.value_dim, b.rows},
                   transposed(operand(weights)),
                   dout.from(b.begin),
                   T(1),
                   dv.row(b.key),
                   dv.step);
    gemm_serial<T>({b.rows, b.cols, h.value_dim},
                   dout.from(b.begin),
                   transposed(h.v.from(b.key)),
                   T(0),
                   ds,
                   b.cols);
    score_grad(b, delta);
    gemm_serial<T>({b.rows, h.dim, b.cols},
                   operand(ds),
                   h.k.from(b.key),
                   b.key > 0 ? T(1) : T(0),
                   dq.row(b.begin),
                   dq.step);
    gemm_serial<T>({b.cols, h.dim, b.rows},
                   transposed(operand(ds)),
                   h.q.from(b.begin),
                   T(1),
                   dk.row(b.key),
                   dk.step);
  }

  void run() const {
    for (std::int64_t j = 0; j < h.keys; ++j) {
      std::fill_n(dk.row(j), h.dim, T(0));
      std::fill_n(dv.row(j), h.value_dim, T(0));
    }
    std::array<T, kQueryBlock> delta;
    for (std::int64_t begin = 0; begin < h.queries; begin += kQueryBlock) {
      const std::int64_t rows = std::min(kQueryBlock, h.queries - begin);
      for (std::int64_t i = 0; i < rows; ++i) {
        const T *const y = out.row(begin + i), *const dy = dout.row(begin + i);
        delta[static_cast<std::size_t>(i)] =
            lane_sum<T>(h.value_dim, [y, dy](std::int64_t d) { return y[d] * dy[d]; });
      }
      const std::int64_t keys = h.seen(begin + rows);
      for (std::int64_t key = 0; key < keys; key += kKeyBlock)
        block({begin, rows, key, std::min(kKeyBlock, keys - key)}, delta.data());
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
    for_items<T>(s, a, heads * blocks, 1, [&](std::int64_t item, T* workspace) {
      const Head<T> h(a, item / blocks);
      forward_block<T>(h,
                       drop,
                       item % blocks * kQueryBlock,
                       rows_of<T>(out, h.batch, h.head),
                       lse.as<T>() + item / blocks * queries,
                       workspace);
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
  const std::int64_t each = block_elements(a), blocks = a.dropout > 0 ? 3 : 2;
  with_float(a.q.dtype, [&]<class T>() {
    for_items<T>(s, a, heads, blocks, [&](std::int64_t item, T* workspace) {
      const Head<T> h(a, item);
      const Backward<T> backward{h,
                                 drop,
                                 rows_of<const T>(out, h.batch, h.head),
                                 rows_of<const T>(dout, h.batch, h.head),
                                 lse.as<const T>() + item * queries,
                                 rows_of<T>(grads.dq, h.batch, h.head),
                                 rows_of<T>(grads.dk, h.batch, h.head),
                                 rows_of<T>(grads.dv, h.batch, h.head),
                                 workspace,
                                 workspace + (blocks - 1) * each,
                                 workspace + each};
      backward.run();
    });
  });
}

template void attention_keep(const HostStream&, double, const DropoutKey&, const View&);

}  // namespace tandem::kernels
