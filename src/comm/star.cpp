// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/star.hpp"

#include <algorithm>

#include "kernels/gpu_kernels.hpp"
#include "runtime/gpu/gpu_backend.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;

/// Whether the target is one of the piece's, and where.
void* target_of(const Piece& piece, int rank) {
  const auto found = std::ranges::find(piece.target_ranks, rank);
  if (found == piece.target_ranks.end()) return nullptr;
  return piece.targets[static_cast<std::size_t>(found - piece.target_ranks.begin())];
}

}  // namespace

bool Star::takes(const Signature& signature, std::span<const Piece> pieces) {
  if (signature.algorithm != Signature::kDirect) return false;
  std::size_t nbytes = 0, ranks = 0;
  for (const Piece& piece : pieces) {
    nbytes += piece.nbytes();
    ranks = std::max({ranks, piece.sources.size(), piece.targets.size()});
  }
  if (nbytes > kMostBytes) return false;
  if (signature.kind == Kind::all_reduce) return ranks > 1;
  return ranks > 2 &&
         (signature.kind == Kind::all_gather || signature.kind == Kind::reduce_scatter);
}

Traffic Star::queue(const char* what, std::span<const Piece> pieces) {
  const auto ranks = static_cast<std::size_t>(links_.size());
  traffic_.assign(ranks * ranks, 0);
  std::vector<Run> runs;
  for (const Piece& piece : pieces) {
    if (piece.count == 0) continue;
    if (runs.empty() || !follows(runs.back(), piece)) runs.push_back({});
    runs.back().pieces.push_back(&piece);
    runs.back().count += piece.count;
  }
  for (Run& run : runs)
    fetch(run);
  std::vector<Copy> results;
  for (const Run& run : runs) {
    make(what, run);
    add_results(run, results);
  }
  for (const Copy& c : results)
    copy(c.from, hub_, c.to, c.rank, c.nbytes);
  return std::move(traffic_);
}

/// Reductions do, whose kernel reads all sources: copies are made by none.
bool Star::follows(const Run& run, const Piece& piece) {
  const Piece& first = *run.pieces.front();
  if (first.sources.size() < 2 || first.source_ranks != piece.source_ranks) return false;
  if (first.dtype != piece.dtype || first.op != piece.op || first.factors != piece.factors)
    return false;
  for (std::size_t i = 0; i < first.sources.size(); ++i)
    if (piece.sources[i] != element(first.sources[i], run.count, first.dtype)) return false;
  return true;
}

void* Star::stage(std::size_t nbytes) {
  staged_.push_back(std::make_unique<Staged>(links_.device(hub_), nbytes));
  return staged_.back()->data();
}

/// Chooses where the run's result is, and brings its sources to the hub: the only one of a copy
/// right to the result.
void Star::fetch(Run& run) {
  const Piece& first = *run.pieces.front();
  const std::size_t nbytes = static_cast<std::size_t>(run.count) * itemsize(first.dtype);
  if (run.pieces.size() == 1) run.result = target_of(first, hub_);
  if (run.result == nullptr) run.result = stage(nbytes);
  for (std::size_t i = 0; i < first.sources.size(); ++i) {
    const int owner = first.source_ranks[i];
    const void* here = first.sources[i];
    if (owner != hub_) {
      void* const to = first.sources.size() == 1 ? run.result : stage(nbytes);
      copy(here, owner, to, hub_, nbytes);
      here = to;
    }
    run.sources.push_back(here);
  }
}

void Star::make(const char* what, const Run& run) const {
  const Piece& first = *run.pieces.front();
  if (run.sources.size() == 1 && run.sources.front() == run.result) return;
  void* const to = run.result;
  kernels::gpu_kernels().sum_ranks(links_.side_stream(hub_),
                                   reduction_of(first.op),
                                   first.dtype,
                                   run.sources,
                                   {&to, 1},
                                   0,
                                   run.count,
                                   first.factors);
  gpu_backend().check_launch(what);
}

/// What lies behind a rank's last part on the hub and at its place goes with it.
void Star::add_results(const Run& run, std::vector<Copy>& results) const {
  auto* from = static_cast<const char*>(run.result);
  for (const Piece* const piece : run.pieces) {
    for (std::size_t i = 0; i < piece->targets.size(); ++i) {
      const int rank = piece->target_ranks[i];
      auto* const to = static_cast<char*>(piece->targets[i]);
      if (to == from) continue;
      const auto last = std::ranges::find_if(results, [&](const Copy& c) {
        return c.rank == rank && c.from + c.nbytes == from && c.to + c.nbytes == to;
      });
      if (last != results.end())
        last->nbytes += piece->nbytes();
      else
        results.push_back({rank, from, to, piece->nbytes()});
    }
    from += piece->nbytes();
  }
}

void Star::copy(const void* from, int from_rank, void* to, int to_rank, std::size_t nbytes) {
  links_.copy(from, from_rank, to, to_rank, nbytes);
  if (from_rank == to_rank) return;
  const auto ranks = static_cast<std::size_t>(links_.size());
  traffic_[static_cast<std::size_t>(from_rank) * ranks + static_cast<std::size_t>(to_rank)] +=
      nbytes;
}

}  // namespace tandem::comm
