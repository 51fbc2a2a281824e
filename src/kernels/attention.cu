// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>

#include "kernels/attention.inl"
#include "kernels/cuda/gemm.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/softmax.inl"
#include "kernels/workspace.hpp"

// Products of a batch entry's heads, as many rows of scores at a time as the workspace holds.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kMaxScores = std::int64_t{1} << 24;  // elements of a workspace

/// Heads [head, head + heads) of one batch entry, and of each queries [begin, begin + rows).
struct Chunk {
  std::int64_t batch, head, heads, begin, rows, keys;
  TANDEM_HD std::int64_t elements() const { return heads * rows * keys; }
};

/// Calls f(chunk) in order; the chunks of a head go from its first query to its last.
template <class F>
void for_chunks(const Attention& a, F f) {
  const std::int64_t batch = a.q.shape[0], heads = a.q.shape[1], queries = a.q.shape[2],
                     keys = a.k.shape[2];
  const std::int64_t most = std::max<std::int64_t>(1, kMaxScores / std::max<std::int64_t>(1, keys));
  const std::int64_t rows = std::min(queries, most);
  const std::int64_t together =
      rows < queries
          ? 1
          : std::clamp<std::int64_t>(most / std::max<std::int64_t>(1, queries), 1, heads);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; h += together) {
      for (std::int64_t i = 0; i < queries; i += rows)
        f(Chunk{b, h, std::min(together, heads - h), i, std::min(rows, queries - i), keys});
    }
  }
}

std::int64_t chunk_elements(const Attention& a) {
  std::int64_t most = 0;
  for_chunks(a, [&](const Chunk& c) { most = std::max(most, c.elements()); });
  return most;
}

/// Rows of the chunk's first head, from `row` on.
template <class T>
T* first_row(const View& x, const Chunk& c, std::int64_t row) {
  return x.as<T>() + c.batch * x.strides[0] + c.head * x.strides[1] + row * x.strides[2];
}

std::int64_t row_step(const View& x) {
  return x.shape[2] == 1 ? x.shape[3] : x.strides[2];
}

template <class T>
Operand<T> matrix(const View& x, const Chunk& c, std::int64_t row) {
  return {first_row<T>(x, c, row), {MatrixOrder::row_major, row_step(x)}};
}

template <class T>
Operand<T> scores_matrix(const T* s, const Chunk& c) {
  return {s, {MatrixOrder::row_major, c.keys}};
}

std::int64_t head_step(const View& x) {
  return x.strides[1];
}

/// What a score becomes, by its place.
template <class T>
struct ScoreOf {
  Chunk chunk;
  T scale;
  bool causal;
  const void* mask;
  bool allows;  // the mask is bool
  std::int64_t step[4];
  const T* s;

  ScoreOf(const Attention& a, const Chunk& c, const T* scores)
      : chunk(c),
        scale(static_cast<T>(a.scale)),
        causal(a.causal),
        mask(a.mask.data),
        allows(a.mask.dtype == DType::boolean),
        s(scores) {
    for (int d = 0; d < 4; ++d)
      step[d] = mask == nullptr ? 0 : a.mask.strides[d];
  }

  /// `line` counts queries of the chunk's heads.
  TANDEM_HD T operator()(std::int64_t line, std::int64_t key) const {
    const std::int64_t head = chunk.head + line / chunk.rows;
    const std::int64_t query = chunk.begin + line % chunk.rows;
    const T none = -std::numeric_limits<T>::infinity();
    if (causal && key > query) return none;
    const T score = s[line * chunk.keys + key] * scale;
    if (mask == nullptr) return score;
    const std::int64_t at =
        chunk.batch * step[0] + head * step[1] + query * step[2] + key * step[3];
    if (allows) return static_cast<const bool*>(mask)[at] ? score : none;
    return score + static_cast<const T*>(mask)[at];
  }
};

/// log of the sum of exponentials of each line.
template <class T>
struct LogSum {
  using Total = Normaliser<T>;
  ScoreOf<T> score;
  std::int64_t queries;
  T* lse;  // of the chunk's first head

  TANDEM_HD Total total() const { return {-std::numeric_limits<T>::infinity(), 0}; }
  TANDEM_HD Total at(std::int64_t line, std::int64_t key) const {
    const T x = score(line, key);
    return {x, x == -std::numeric_limits<T>::infinity() ? 0.0 : 1.0};
  }
  TANDEM_HD Total join(Total a, Total b) const {
    if (a.total == 0) return b;
    if (b.total == 0) return a;
    const T most = a.most > b.most || a.most != a.most ? a.most : b.most;
    return {most, a.total * share(a.most, most) + b.total * share(b.most, most)};
  }
  TANDEM_HD void store(std::int64_t line, Total t) const {
    const std::int64_t rows = score.chunk.rows;
    lse[line / rows * queries + score.chunk.begin + line % rows] =
        t.total == 0 ? std::numeric_limits<T>::infinity() : t.most + t.log();
  }

 private:
  TANDEM_HD static double share(T part, T most) {
    return part == most ? 1.0 : static_cast<double>(std::exp(part - most));
  }
};

/// A probability, and what dropout leaves of it.
template <class T>
struct Probability {
  ScoreOf<T> score;
  AttentionDrop drop;
  double p;  // of dropout
  const T* lse;

  TANDEM_HD std::int64_t query(std::int64_t line) const {
    return score.chunk.begin + line % score.chunk.rows;
  }
  TANDEM_HD T operator()(std::int64_t line, std::int64_t key) const {
    return std::exp(score(line, key) - lse[line / score.chunk.rows * drop.queries + query(line)]);
  }
  TANDEM_HD T keep(std::int64_t line, std::int64_t key) const {
    if (p == 0) return T(1);
    const Chunk& c = score.chunk;
    return static_cast<T>(drop.factor(c.batch, c.head + line / c.rows, query(line), key));
  }
};

template <class T>
struct StoreDropped {
  Probability<T> of;
  T* to;
  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t keys = of.score.chunk.keys, line = i / keys, key = i - line * keys;
    to[i] = of(line, key) * of.keep(line, key);
  }
};

/// sum(dout * out) of each line.
template <class T>
struct Delta {
  using Total = double;
  Chunk chunk;
  std::int64_t out_head, out_row, dout_head, dout_row;  // steps
  const T* out;
  const T* dout;
  T* delta;

  TANDEM_HD Total total() const { return 0; }
  TANDEM_HD Total at(std::int64_t line, std::int64_t d) const {
    const std::int64_t head = line / chunk.rows, row = line % chunk.rows;
    return static_cast<double>(out[head * out_head + row * out_row + d] *
                               dout[head * dout_head + row * dout_row + d]);
  }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t line, Total t) const { delta[line] = static_cast<T>(t); }
};

/// ds = p * (dp * keep - delta) * scale, in place of dp.
template <class T>
struct ScoreGrad {
  Probability<T> of;
  const T* delta;
  T* ds;
  TANDEM_HD void operator()(std::int64_t i) const {
    const std::int64_t keys = of.score.chunk.keys, line = i / keys, key = i - line * keys;
    ds[i] = of(line, key) * (ds[i] * of.keep(line, key) - delta[line]) * of.score.scale;
  }
};

template <class T>
void score_product(const CudaStream& s, const Attention& a, const Chunk& c, T* scores) {
  gemm<T>(s,
          {c.rows, c.keys, a.q.shape[3]},
          matrix<T>(a.q, c, c.begin),
          transposed(matrix<T>(a.k, c, 0)),
          T(0),
          scores,
          c.keys,
          nullptr,
          {c.heads, head_step(a.q), head_step(a.k), c.rows * c.keys});
}

template <class T>
Probability<T> probability(const Attention& a, const Chunk& c, const T* scores, const View& lse) {
  const std::int64_t queries = a.q.shape[2];
  return {ScoreOf<T>(a, c, scores),
          AttentionDrop(a.dropout, a.key, queries, c.keys),
          a.dropout,
          lse.as<const T>() + (c.batch * a.q.shape[1] + c.head) * queries};
}

/// Buffers of one chunk's backward pass.
template <class T>
struct GradSpace {
  T *scores, *dropped, *ds, *delta;
};

/// The backward pass of one chunk.
template <class T>
struct GradChunk {
  const CudaStream& s;
  const Attention& a;
  const Chunk& c;
  const View& out;
  const View& lse;
  const View& dout;
  const AttentionGrads& g;
  GradSpace<T> space;

  /// to (+)= weights^T @ from.
  void to_keys(const T* weights, const View& from, const View& to) const {
    gemm<T>(s,
            {c.keys, to.shape[3], c.rows},
            transposed(scores_matrix(weights, c)),
            matrix<T>(from, c, c.begin),
            c.begin == 0 ? T(0) : T(1),
            first_row<T>(to, c, 0),
            row_step(to),
            nullptr,
            {c.heads, c.rows * c.keys, head_step(from), head_step(to)});
  }

  void deltas() const {
    reduce_each(s,
                c.heads * c.rows,
                out.shape[3],
                Walk::along,
                Delta<T>{c,
                         head_step(out),
                         row_step(out),
                         head_step(dout),
                         row_step(dout),
                         first_row<const T>(out, c, c.begin),
                         first_row<const T>(dout, c, c.begin),
                         space.delta});
  }

  void run() const {
    const std::int64_t each = c.rows * c.keys;
    const Probability<T> p = probability<T>(a, c, space.scores, lse);
    score_product(s, a, c, space.scores);
    for_each(s, c.elements(), StoreDropped<T>{p, space.dropped});
    to_keys(space.dropped, dout, g.dv);
    gemm<T>(s,
            {c.rows, c.keys, a.v.shape[3]},
            matrix<T>(dout, c, c.begin),
            transposed(matrix<T>(a.v, c, 0)),
            T(0),
            space.ds,
            c.keys,
            nullptr,
            {c.heads, head_step(dout), head_step(a.v), each});
    deltas();
    for_each(s, c.elements(), ScoreGrad<T>{p, space.delta, space.ds});
    gemm<T>(s,
            {c.rows, a.q.shape[3], c.keys},
            scores_matrix<T>(space.ds, c),
            matrix<T>(a.k, c, 0),
            T(0),
            first_row<T>(g.dq, c, c.begin),
            row_step(g.dq),
            nullptr,
            {c.heads, each, head_step(a.k), head_step(g.dq)});
    to_keys(space.ds, a.q, g.dk);
  }
};

}  // namespace

void attention(const CudaStream& s, const Attention& a, const View& out, const View& lse) {
  with_float(a.q.dtype, [&]<class T>() {
    const std::int64_t most = chunk_elements(a), queries = a.q.shape[2];
    const Workspace<T> scores(s.device, most), dropped(s.device, most);
    for_chunks(a, [&](const Chunk& c) {
      T* const first = lse.as<T>() + (c.batch * a.q.shape[1] + c.head) * queries;
      score_product(s, a, c, scores.data());
      reduce_each(s,
                  c.heads * c.rows,
                  c.keys,
                  Walk::along,
                  LogSum<T>{ScoreOf<T>(a, c, scores.data()), queries, first});
      for_each(s,
               c.elements(),
               StoreDropped<T>{probability<T>(a, c, scores.data(), lse), dropped.data()});
      gemm<T>(s,
              {c.rows, a.v.shape[3], c.keys},
              scores_matrix<T>(dropped.data(), c),
              matrix<T>(a.v, c, 0),
              T(0),
              first_row<T>(out, c, c.begin),
              row_step(out),
              nullptr,
              {c.heads, c.rows * c.keys, head_step(a.v), head_step(out)});
    });
  });
}

void attention_grad(const CudaStream& s,
                    const Attention& a,
                    const View& out,
                    const View& lse,
                    const View& dout,
                    const AttentionGrads& grads) {
  with_float(a.q.dtype, [&]<class T>() {
    const std::int64_t most = chunk_elements(a);
    std::int64_t lines = 0;
    for_chunks(a, [&](const Chunk& c) { lines = std::max(lines, c.heads * c.rows); });
    const Workspace<T> scores(s.device, most), dropped(s.device, most), ds(s.device, most),
        delta(s.device, lines);
    const GradSpace<T> space{scores.data(), dropped.data(), ds.data(), delta.data()};
    for_chunks(a, [&](const Chunk& c) {
      GradChunk<T>{s, a, c, out, lse, dout, grads, space}.run();
    });
  });
}

template void attention_keep(const CudaStream&, double, const DropoutKey&, const View&);

}  // namespace tandem::kernels
