// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention.hpp"
#include "kernels/cuda/gemm.hpp"
#include "kernels/divisor.hpp"

// What a GPU does at once of attention: scores of as many heads as the workspace holds, of all
// batch entries where it holds them, which are few launches.
namespace tandem::kernels {

inline constexpr std::int64_t kMaxScores = std::int64_t{1} << 24;  // elements of a workspace

/// Batch entries [batch, batch + batches), of each heads [head, head + heads), and of these queries
/// [begin, begin + rows). Several entries have all their heads, several heads all their queries.
struct Chunk {
  std::int64_t batch, batches, head, heads, begin, rows, keys;
  std::int64_t matrices() const { return batches * heads; }
  std::int64_t lines() const { return matrices() * rows; }
  std::int64_t elements() const { return lines() * keys; }
};

/// Calls f(chunk) in order; the chunks of a head go from its first query to its last.
template <class F>
void for_chunks(const Attention& a, F f) {
  const std::int64_t batch = a.q.shape[0], heads = a.q.shape[1], queries = a.q.shape[2],
                     keys = a.k.shape[2];
  const std::int64_t most = std::max<std::int64_t>(1, kMaxScores / std::max<std::int64_t>(1, keys));
  const std::int64_t rows = std::min(queries, most);
  const auto fit = [](std::int64_t room, std::int64_t each, std::int64_t all) {
    return std::clamp<std::int64_t>(room / std::max<std::int64_t>(1, each), 1, all);
  };
  const std::int64_t some_heads = rows < queries ? 1 : fit(most, queries, heads);
  const std::int64_t entries = some_heads < heads ? 1 : fit(most, queries * heads, batch);
  for (std::int64_t b = 0; b < batch; b += entries) {
    for (std::int64_t h = 0; h < heads; h += some_heads) {
      for (std::int64_t i = 0; i < queries; i += rows) {
        f(Chunk{b,
                std::min(entries, batch - b),
                h,
                std::min(some_heads, heads - h),
                i,
                std::min(rows, queries - i),
                keys});
      }
    }
  }
}

inline std::int64_t chunk_elements(const Attention& a) {
  std::int64_t most = 0;
  for_chunks(a, [&](const Chunk& c) { most = std::max(most, c.elements()); });
  return most;
}

/// The matrices of a chunk: row-major, `row_step` between rows.
template <class T>
struct Matrices {
  T* first;
  std::int64_t batch_step, head_step, row_step;
};

/// Those of (batch, heads, rows, columns), from `row` on.
template <class T>
Matrices<T> matrices(const View& x, const Chunk& c, std::int64_t row) {
  const std::int64_t row_step = x.shape[2] == 1 ? x.shape[3] : x.strides[2];
  return {x.as<T>() + c.batch * x.strides[0] + c.head * x.strides[1] + row * x.strides[2],
          x.strides[0],
          x.strides[1],
          row_step};
}

/// Those of a workspace, (batches, heads, rows, keys).
template <class T>
Matrices<T> scores_of(T* s, const Chunk& c) {
  const std::int64_t each = c.rows * c.keys;
  return {s, c.heads * each, each, c.keys};
}

/// How the factors of a product are read.
enum class Factors : std::uint8_t { as_they_are, first_transposed, second_transposed };

/// to = a @ b + beta * to for all matrices of a chunk: by one call where steps of the same length
/// lead from each to the next, else by as few calls as the shorter of batches and heads.
template <class T, class C>
void multiply(const CudaStream& s,
              const Chunk& c,
              GemmSize size,
              Factors factors,
              Matrices<const T> a,
              Matrices<const T> b,
              compute_t<T> beta,
              Matrices<C> to) {
  const auto run = [&](std::int64_t batch, std::int64_t head, const GemmBatch& steps) {
    const auto at = [&](const auto& m) {
      return m.first + batch * m.batch_step + head * m.head_step;
    };
    const Operand<T> left{at(a), {MatrixOrder::row_major, a.row_step}},
        right{at(b), {MatrixOrder::row_major, b.row_step}};
    gemm<T>(s,
            size,
            factors == Factors::first_transposed ? transposed(left) : left,
            factors == Factors::second_transposed ? transposed(right) : right,
            beta,
            at(to),
            to.row_step,
            nullptr,
            steps);
  };
  const auto follows = [&](const auto& m) { return m.batch_step == c.heads * m.head_step; };
  const GemmBatch by_head{c.heads, a.head_step, b.head_step, to.head_step};
  const GemmBatch by_batch{c.batches, a.batch_step, b.batch_step, to.batch_step};
  if (follows(a) && follows(b) && follows(to)) {
    GemmBatch all = by_head;
    all.count = c.matrices();
    return run(0, 0, all);
  }
  if (c.batches <= c.heads) {
    for (std::int64_t i = 0; i < c.batches; ++i)
      run(i, 0, by_head);
  } else {
    for (std::int64_t i = 0; i < c.heads; ++i)
      run(0, i, by_batch);
  }
}

/// Where a line of a chunk is: lines are the queries of all its matrices.
struct LinePlace {
  std::int64_t batch, head, query;
};
class ChunkLines {
 public:
  ChunkLines(const Attention& a, const Chunk& c)
      : rows_(c.rows),
        heads_(c.heads),
        batch_(c.batch),
        head_(c.head),
        begin_(c.begin),
        all_heads_(a.q.shape[1]),
        queries_(a.q.shape[2]) {}
  TANDEM_HD LinePlace place(std::int64_t line) const {
    const auto [matrix, row] = rows_.split(line);
    const auto [batch, head] = heads_.split(matrix);
    return {batch_ + batch, head_ + head, begin_ + row};
  }
  /// Where the line is in (batch, heads, queries).
  TANDEM_HD std::int64_t number(const LinePlace& p) const {
    return (p.batch * all_heads_ + p.head) * queries_ + p.query;
  }

 private:
  Divisor rows_, heads_;
  std::int64_t batch_, head_, begin_, all_heads_, queries_;
};

}  // namespace tandem::kernels
