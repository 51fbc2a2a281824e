// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/buckets.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace tandem::parallel {

namespace {

std::int64_t numel(const Bucket& bucket) {
  std::int64_t sum = 0;
  for (const Share& run : bucket.runs)
    sum += run.size();
  return sum;
}

/// Adds a place to the run that it lies next to, or as a run of its own.
void add_run(std::vector<Share>& runs, const optim::ArenaPlace& place) {
  Share added{place.offset, place.offset + place.extent};
  const auto touches = [&](const Share& run) {
    return run.begin == added.end || run.end == added.begin;
  };
  for (auto run = std::ranges::find_if(runs, touches); run != runs.end();
       run = std::ranges::find_if(runs, touches)) {
    added = {std::min(run->begin, added.begin), std::max(run->end, added.end)};
    runs.erase(run);
  }
  runs.insert(std::ranges::upper_bound(runs, added.begin, {}, &Share::begin), added);
}

std::vector<Bucket> fill_buckets(const optim::ArenaLayout& layout,
                                 const std::vector<std::size_t>& order,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes) {
  std::vector<Bucket> buckets;
  std::vector<std::size_t> open(layout.blocks().size(), SIZE_MAX);  // by block: its open bucket
  for (const std::size_t p : order) {
    const optim::ArenaPlace& place = layout.places()[p];
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(place.block)];
    auto& current = open[static_cast<std::size_t>(place.block)];
    if (current == SIZE_MAX) {
      current = buckets.size();
      buckets.push_back({place.block, {}, {}});
    }
    Bucket& bucket = buckets[current];
    add_run(bucket.runs, place);
    bucket.places.push_back(p);
    const std::size_t limit = current == 0 ? first_nbytes : nbytes;
    if (static_cast<std::size_t>(numel(bucket)) * itemsize(block.dtype) >= limit)
      current = SIZE_MAX;
  }
  return buckets;
}

/// The places that train, the last one first.
std::vector<std::size_t> reverse_order(const optim::ArenaLayout& layout) {
  std::vector<std::size_t> order;
  for (std::size_t p = layout.places().size(); p-- > 0;) {
    const auto block = static_cast<std::size_t>(layout.places()[p].block);
    if (layout.blocks()[block].trains == optim::Trains::yes) order.push_back(p);
  }
  return order;
}

}  // namespace

std::vector<Bucket> plan_buckets(const optim::ArenaLayout& layout,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes) {
  return fill_buckets(layout, reverse_order(layout), first_nbytes, nbytes);
}

std::vector<Bucket> plan_block_buckets(const optim::ArenaLayout& layout) {
  std::vector<Bucket> buckets;
  for (std::size_t b = layout.blocks().size(); b-- > 0;) {
    const optim::ArenaBlock& block = layout.blocks()[b];
    if (block.trains == optim::Trains::no) continue;
    Bucket& bucket = buckets.emplace_back(Bucket{static_cast<int>(b), {{0, block.numel}}, {}});
    for (std::size_t p = layout.places().size(); p-- > 0;)
      if (layout.places()[p].block == bucket.block) bucket.places.push_back(p);
  }
  return buckets;
}

std::vector<Bucket> plan_buckets_as_ready(const optim::ArenaLayout& layout,
                                          const std::vector<std::size_t>& ready,
                                          std::size_t first_nbytes,
                                          std::size_t nbytes) {
  std::vector<std::size_t> order = ready;
  for (const std::size_t p : reverse_order(layout))
    if (std::ranges::find(ready, p) == ready.end()) order.push_back(p);
  return fill_buckets(layout, order, first_nbytes, nbytes);
}

std::vector<Bucket> plan_broadcast(const optim::ArenaLayout& layout,
                                   std::size_t first_nbytes,
                                   std::size_t nbytes) {
  std::vector<std::size_t> order(layout.places().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return fill_buckets(layout, order, first_nbytes, nbytes);
}

Tensor range(const Tensor& flat, const Share& elements) {
  return as_strided(flat, {elements.size()}, {1}, flat.impl().offset + elements.begin);
}

Share share_of(const Bucket& bucket, int r, int ranks) noexcept {
  return even_share(bucket.range(), r, ranks);
}

}  // namespace tandem::parallel
