// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/attention.inl"
#include "kernels/cuda/attention_chunk.hpp"
#include "kernels/cuda/launch.hpp"
#include "kernels/divisor.hpp"
#include "kernels/element.hpp"
#include "kernels/softmax.inl"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// What a score becomes, by its place. Scores of tensors of 16 bits are f32.
template <class T>
struct ScoreOf {
  using Number = compute_t<T>;
  ChunkLines lines;
  std::int64_t keys;
  Number scale;
  bool causal;
  const void* mask;
  bool allows;  // the mask is bool
  std::int64_t step[4];
  const Number* s;

  ScoreOf(const Attention& a, const Chunk& c, const Number* scores)
      : lines(a, c),
        keys(c.keys),
        scale(static_cast<Number>(a.scale)),
        causal(a.causal),
        mask(a.mask.data),
        allows(a.mask.dtype == DType::boolean),
        s(scores) {
    for (int d = 0; d < 4; ++d)
      step[d] = mask == nullptr ? 0 : a.mask.strides[d];
  }

  TANDEM_HD Number operator()(std::int64_t line, const LinePlace& p, std::int64_t key) const {
    const Number none = -std::numeric_limits<Number>::infinity();
    if (causal && key > p.query) return none;
    const Number score = s[line * keys + key] * scale;
    if (mask == nullptr) return score;
    const std::int64_t at =
        p.batch * step[0] + p.head * step[1] + p.query * step[2] + key * step[3];
    if (allows) return static_cast<const bool*>(mask)[at] ? score : none;
    return score + load(static_cast<const T*>(mask)[at]);
  }
};

/// log of the sum of exponentials of each line.
template <class T>
struct LogSum {
  using Number = compute_t<T>;
  using Total = Normaliser<Number>;
  ScoreOf<T> score;
  Number* lse;  // (batch, heads, queries)

  struct Run {
    const ScoreOf<T>& score;
    std::int64_t line;
    LinePlace place;
    NormaliserRun<Number> sum;
    TANDEM_HD Number load(std::int64_t key) const { return score(line, place, key); }
    template <int kCount>
    TANDEM_HD void add(const Number (&scores)[kCount]) {
      sum.add(scores);
    }
    TANDEM_HD Total total() const { return sum.normaliser(); }
  };
  TANDEM_HD Run run(std::int64_t line) const { return {score, line, score.lines.place(line), {}}; }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return Total::join(a, b); }
  TANDEM_HD void store(std::int64_t line, const Total& t) const {
    lse[score.lines.number(score.lines.place(line))] =
        t.total == 0 ? std::numeric_limits<Number>::infinity() : t.most + t.log();
  }
};

/// A probability, and what dropout leaves of it.
template <class T>
struct Probability {
  using Number = compute_t<T>;
  ScoreOf<T> score;
  Divisor keys;
  AttentionDrop drop;
  bool drops;
  const Number* lse;

  Probability(const Attention& a, const Chunk& c, const Number* scores, const View& lse_)
      : score(a, c, scores),
        keys(c.keys),
        drop(a.dropout, a.key, a.q.shape[2], c.keys),
        drops(a.dropout > 0),
        lse(lse_.as<const Number>()) {}

  TANDEM_HD Number operator()(std::int64_t line, const LinePlace& at, std::int64_t key) const {
    return std::exp(score(line, at, key) - lse[score.lines.number(at)]);
  }
  TANDEM_HD Number keep(const LinePlace& at, std::int64_t key) const {
    return drops ? static_cast<Number>(drop.factor(at.batch, at.head, at.query, key)) : Number(1);
  }
};

template <class T>
struct StoreDropped {
  Probability<T> of;
  T* to;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, key] = of.keys.split(i);
    const LinePlace at = of.score.lines.place(line);
    to[i] = store<T>(of(line, at, key) * of.keep(at, key));
  }
};

/// sum(dout * out) of each line.
template <class T>
struct Delta {
  using Total = double;
  ChunkLines lines;
  std::int64_t out_step[3], dout_step[3];  // between batch entries, heads, queries
  const T* out;
  const T* dout;
  compute_t<T>* delta;

  Delta(
      const Attention& a, const Chunk& c, const View& out_, const View& dout_, compute_t<T>* delta_)
      : lines(a, c), out(out_.as<const T>()), dout(dout_.as<const T>()), delta(delta_) {
    for (int d = 0; d < 3; ++d) {
      out_step[d] = out_.strides[d];
      dout_step[d] = dout_.strides[d];
    }
  }

  struct Run {
    const T* out;
    const T* dout;
    compute_t<T> sum;
    struct Value {
      T out, dout;
    };
    TANDEM_HD Value load(std::int64_t d) const { return {out[d], dout[d]}; }
    template <int kCount>
    TANDEM_HD void add(const Value (&values)[kCount]) {
      for (const Value& value : values)
        sum += kernels::load(value.out) * kernels::load(value.dout);
    }
    TANDEM_HD Total total() const { return static_cast<Total>(sum); }
  };
  TANDEM_HD Run run(std::int64_t line) const {
    const LinePlace p = lines.place(line);
    return {out + p.batch * out_step[0] + p.head * out_step[1] + p.query * out_step[2],
            dout + p.batch * dout_step[0] + p.head * dout_step[1] + p.query * dout_step[2],
            compute_t<T>(0)};
  }
  TANDEM_HD Total join(Total a, Total b) const { return a + b; }
  TANDEM_HD void store(std::int64_t line, Total t) const {
    delta[line] = static_cast<compute_t<T>>(t);
  }
};

/// ds = p * (dp * keep - delta) * scale. @param ds  may be dp.
template <class T>
struct ScoreGrad {
  Probability<T> of;
  const compute_t<T>* delta;
  const compute_t<T>* dp;
  T* ds;
  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, key] = of.keys.split(i);
    const LinePlace at = of.score.lines.place(line);
    ds[i] = store<T>(of(line, at, key) * (dp[i] * of.keep(at, key) - delta[line]) * of.score.scale);
  }
};

template <class T>
void score_product(const CudaStream& s, const Attention& a, const Chunk& c, compute_t<T>* scores) {
  multiply(s,
           c,
           {c.rows, c.keys, a.q.shape[3]},
           Factors::second_transposed,
           matrices<const T>(a.q, c, c.begin),
           matrices<const T>(a.k, c, 0),
           0,
           scores_of(scores, c));
}

/// Buffers of one chunk's backward pass.
template <class T>
struct GradSpace {
  compute_t<T>*scores, *dp, *delta;
  T *dropped, *ds;
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
    multiply(s,
             c,
             {c.keys, to.shape[3], c.rows},
             Factors::first_transposed,
             scores_of(weights, c),
             matrices<const T>(from, c, c.begin),
             c.begin == 0 ? 0 : 1,
             matrices<T>(to, c, 0));
  }

  void run() const {
    const Probability<T> p(a, c, space.scores, lse);
    score_product<T>(s, a, c, space.scores);
    for_each(s, c.elements(), StoreDropped<T>{p, space.dropped});
    to_keys(space.dropped, dout, g.dv);
    multiply(s,
             c,
             {c.rows, c.keys, a.v.shape[3]},
             Factors::second_transposed,
             matrices<const T>(dout, c, c.begin),
             matrices<const T>(a.v, c, 0),
             0,
             scores_of(space.dp, c));
    reduce_each(s, c.lines(), out.shape[3], Walk::along, Delta<T>(a, c, out, dout, space.delta));
    for_each(s, c.elements(), ScoreGrad<T>{p, space.delta, space.dp, space.ds});
    multiply(s,
             c,
             {c.rows, a.q.shape[3], c.keys},
             Factors::as_they_are,
             scores_of<const T>(space.ds, c),
             matrices<const T>(a.k, c, 0),
             0,
             matrices<T>(g.dq, c, c.begin));
    to_keys(space.ds, a.q, g.dk);
  }
};

}  // namespace

void attention(const CudaStream& s, const Attention& a, const View& out, const View& lse) {
  with_any_float(a.q.dtype, [&]<class T>() {
    const std::int64_t most = chunk_elements(a);
    const Workspace<compute_t<T>> scores(s.device, most);
    const Workspace<T> dropped(s.device, most);
    for_chunks(a, [&](const Chunk& c) {
      score_product<T>(s, a, c, scores.data());
      const ScoreOf<T> score(a, c, scores.data());
      reduce_each(s, c.lines(), c.keys, Walk::along, LogSum<T>{score, lse.as<compute_t<T>>()});
      for_each(s,
               c.elements(),
               StoreDropped<T>{Probability<T>(a, c, scores.data(), lse), dropped.data()});
      multiply(s,
               c,
               {c.rows, a.v.shape[3], c.keys},
               Factors::as_they_are,
               scores_of<const T>(dropped.data(), c),
               matrices<const T>(a.v, c, 0),
               0,
               matrices<T>(out, c, c.begin));
    });
  });
}

void attention_grad(const CudaStream& s,
                    const Attention& a,
                    const View& out,
                    const View& lse,
                    const View& dout,
                    const AttentionGrads& grads) {
  with_any_float(a.q.dtype, [&]<class T>() {
    const std::int64_t most = chunk_elements(a);
    std::int64_t lines = 0;
    for_chunks(a, [&](const Chunk& c) { lines = std::max(lines, c.lines()); });
    constexpr bool kInPlace = std::is_same_v<T, compute_t<T>>;
    const Workspace<compute_t<T>> scores(s.device, most), dp(s.device, most),
        delta(s.device, lines);
    const Workspace<T> dropped(s.device, most), ds(s.device, kInPlace ? 0 : most);
    GradSpace<T> space{scores.data(), dp.data(), delta.data(), dropped.data(), ds.data()};
    if constexpr (kInPlace) space.ds = space.dp;
    for_chunks(a, [&](const Chunk& c) {
      GradChunk<T>{s, a, c, out, lse, dout, grads, space}.run();
    });
  });
}

template void attention_keep(const CudaStream&, double, const DropoutKey&, const View&);

}  // namespace tandem::kernels
