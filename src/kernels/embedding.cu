// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/sort_positions.hpp"
#include "kernels/divisor.hpp"
#include "kernels/embedding.hpp"
#include "kernels/fill.hpp"
#include "kernels/workspace.hpp"

// Rows are sorted by their index, so that those of one index stand together: in their order, and
// without atomics. A run of them is cut where a piece of the sorted rows ends, so that an index
// which is everywhere, as that of a blank, is not added up by one thread.
namespace tandem::kernels {
namespace {

constexpr std::int64_t kPiece = 64;

/// What is known of sorted rows, and how their sums are kept.
template <class T>
struct SortedRows {
  std::int64_t n;
  Divisor width;
  const std::int64_t* index;     // (n), sorted
  const std::int64_t* position;  // (n): of the row in dy
  T* dweight;
  T* parts;  // (pieces, 2, width): of a run that began in an earlier piece; of one that goes on

  TANDEM_HD bool begins(std::int64_t row) const { return row == 0 || index[row - 1] != index[row]; }
  TANDEM_HD T& part(std::int64_t piece, int which, std::int64_t column) const {
    return parts[(2 * piece + which) * width.value() + column];
  }
};

/// The sum of a run within a piece, by the thread of its first row there.
template <class T>
struct SumPiece {
  SortedRows<T> rows;
  std::int64_t padding;
  const T* dy;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [row, column] = rows.width.split(i);
    const std::int64_t entry = rows.index[row], piece = row / kPiece;
    const bool begins = rows.begins(row);
    if (entry == padding || (!begins && row % kPiece != 0)) return;
    const std::int64_t last = rows.n < (piece + 1) * kPiece ? rows.n : (piece + 1) * kPiece;
    T sum = T(0);
    std::int64_t r = row;
    for (; r < last && rows.index[r] == entry; ++r)
      sum += dy[rows.position[r] * rows.width.value() + column];
    const bool ends = r < last || r == rows.n || rows.index[r] != entry;
    if (begins && ends)
      rows.dweight[entry * rows.width.value() + column] = sum;
    else
      rows.part(piece, begins ? 1 : 0, column) = sum;
  }
};

/// The sum of a run that goes on behind the piece in which it begins.
template <class T>
struct JoinPieces {
  SortedRows<T> rows;
  std::int64_t padding;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [piece, column] = rows.width.split(i);
    const std::int64_t first = piece * kPiece, next = first + kPiece;
    if (next >= rows.n) return;
    const std::int64_t entry = rows.index[next];
    const bool goes_on = rows.index[next - 1] == entry;
    const bool began_before = rows.index[first] == entry && !rows.begins(first);
    if (entry == padding || !goes_on || began_before) return;
    T sum = rows.part(piece, 1, column);
    for (std::int64_t p = piece + 1; p * kPiece < rows.n && rows.index[p * kPiece] == entry; ++p)
      sum += rows.part(p, 0, column);
    rows.dweight[entry * rows.width.value() + column] = sum;
  }
};

}  // namespace

void embedding_grad(const CudaStream& s,
                    const View& dy,
                    const View& index,
                    std::int64_t padding,
                    const View& dweight) {
  const std::int64_t n = dy.shape[0], width = dy.shape[1];
  fill(s, 0, dweight);
  if (n == 0 || width == 0) return;
  const Workspace<std::int64_t> sorted(s.device, n), position(s.device, n);
  const int bits = std::bit_width(static_cast<std::uint64_t>(dweight.shape[0] - 1));
  sort_positions(
      s, n, index.as<const std::int64_t>(), std::max(1, bits), sorted.data(), position.data());
  const std::int64_t pieces = (n + kPiece - 1) / kPiece;
  with_float(dy.dtype, [&]<class T>() {
    const Workspace<T> parts(s.device, pieces * 2 * width);
    const SortedRows<T> rows{
        n, Divisor(width), sorted.data(), position.data(), dweight.as<T>(), parts.data()};
    for_each(s, n * width, SumPiece<T>{rows, padding, dy.as<const T>()});
    if (pieces > 1) for_each(s, (pieces - 1) * width, JoinPieces<T>{rows, padding});
  });
}

}  // namespace tandem::kernels
