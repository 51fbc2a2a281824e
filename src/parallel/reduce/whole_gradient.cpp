// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/whole_gradient.hpp"

#include <algorithm>
#include <vector>

#include "tandem/optim/arena_sharing.hpp"

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {
namespace {

/// A part of a place's gradient, on device 0 and on another one that has it too.
struct GradientPair {
  Tensor here, there;
};

std::vector<GradientPair> pairs_of(const optim::Arena& arena, const optim::ArenaPlace& place) {
  std::vector<GradientPair> pairs;
  for (const optim::ArenaSlice& slice : arena.slices()) {
    const std::int64_t begin = std::max(slice.begin, place.offset);
    const std::int64_t end = std::min(slice.end, place.offset + place.extent);
    const bool has_it = slice.block == place.block && slice.grads.defined() && begin < end;
    if (slice.device == arena.device() || !has_it) continue;
    pairs.push_back({range(arena.grads(place.block), {begin, end}),
                     range(slice.grads, {begin - slice.begin, end - slice.begin})});
  }
  return pairs;
}

}  // namespace

void change_whole_gradient(const optim::Arena& arena,
                           std::size_t place,
                           GradientPlace where,
                           const std::function<void()>& change) {
  std::vector<GradientPair> pairs;
  if (where == GradientPlace::spread) pairs = pairs_of(arena, arena.layout().places()[place]);
  const auto sharing = arena.sharing();
  const bool shares = sharing != nullptr && sharing->parts() == optim::ArenaSharing::Parts::shares;
  for (GradientPair& pair : pairs)
    if (shares) pair.here.copy_(pair.there);
  change();
  for (GradientPair& pair : pairs)
    pair.there.copy_(pair.here);
}

}  // namespace tandem::parallel
