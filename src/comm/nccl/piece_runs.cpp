// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/nccl/piece_runs.hpp"

#include <cstdint>
#include <vector>

namespace tandem::comm {
namespace {

bool is_only(const std::vector<int>& ranks, std::size_t rank) {
  return ranks.size() == 1 && ranks.front() == static_cast<int>(rank);
}

bool are_all(const std::vector<int>& list, std::size_t ranks) {
  for (std::size_t r = 0; r < list.size(); ++r)
    if (list[r] != static_cast<int>(r)) return false;
  return list.size() == ranks;
}

/// Whether piece number `r` has the size of the first one, and lies r sizes behind it.
template <class Pointers>
bool follows(const Piece& first, const Piece& piece, std::size_t r, Pointers memory) {
  if (piece.count != first.count || piece.dtype != first.dtype) return false;
  for (std::size_t i = 0; i < (first.*memory).size(); ++i) {
    const auto distance = static_cast<std::int64_t>(r) * first.count;
    if ((piece.*memory)[i] != element((first.*memory)[i], distance, first.dtype)) return false;
  }
  return true;
}

}  // namespace

bool is_all_gather(std::span<const Piece* const> pieces, std::size_t ranks) {
  if (pieces.size() != ranks || ranks < 2 || pieces.front()->count == 0) return false;
  for (std::size_t r = 0; r < ranks; ++r) {
    const Piece& p = *pieces[r];
    if (!is_only(p.source_ranks, r) || !are_all(p.target_ranks, ranks) ||
        !follows(*pieces.front(), p, r, &Piece::targets))
      return false;
  }
  return true;
}

bool is_reduce_scatter(std::span<const Piece* const> pieces, std::size_t ranks) {
  if (pieces.size() != ranks || ranks < 2 || pieces.front()->count == 0) return false;
  for (std::size_t r = 0; r < ranks; ++r) {
    const Piece& p = *pieces[r];
    if (!is_only(p.target_ranks, r) || !are_all(p.source_ranks, ranks) ||
        p.op != pieces.front()->op || p.factors != pieces.front()->factors ||
        !follows(*pieces.front(), p, r, &Piece::sources))
      return false;
  }
  return true;
}

}  // namespace tandem::comm
