// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/algorithms/phases.hpp"

#include <algorithm>

namespace tandem::comm {
namespace {

int size_of(Ranks ranks) noexcept {
  return static_cast<int>(ranks.size());
}

int wrapped(int i, int n) noexcept {
  return (i % n + n) % n;
}

int at(Ranks ring, int i) noexcept {
  return ring[static_cast<std::size_t>(wrapped(i, size_of(ring)))];
}

}  // namespace

void add(
    Schedule& schedule, std::int64_t step, Transfer::Kind kind, int from, int to, Share range) {
  const auto index = static_cast<std::size_t>(step);
  if (schedule.steps.size() <= index) schedule.steps.resize(index + 1);
  if (range.begin == range.end) return;
  schedule.steps[index].push_back({from, to, range.begin, range.end, kind});
}

std::vector<int> ranks_from(int first, int n, int stride) {
  std::vector<int> ranks;
  for (int i = 0; i < n; ++i)
    ranks.push_back(first + i * stride);
  return ranks;
}

std::int64_t segments_of(std::int64_t count, std::int64_t segment) noexcept {
  return std::max<std::int64_t>(1, (count + segment - 1) / segment);
}

std::int64_t ring_reduce_scatter(Schedule& schedule, std::int64_t first, Ranks ring, Share range) {
  return ring_reduce_scatter(schedule, first, ring, range, 0, 1);
}

std::int64_t ring_reduce_scatter(
    Schedule& schedule, std::int64_t first, Ranks ring, Share range, int k, int segments) {
  const int n = size_of(ring);
  for (int s = 0; s < n - 1; ++s) {
    for (int i = 0; i < n; ++i) {
      const Share whole = even_share(range, wrapped(i - s - 1, n), n);
      add(schedule,
          first + s,
          Transfer::Kind::reduce,
          at(ring, i),
          at(ring, i + 1),
          even_share(whole, k, segments));
    }
  }
  return first + n - 1;
}

std::int64_t ring_all_gather(Schedule& schedule, std::int64_t first, Ranks ring, Share range) {
  const int n = size_of(ring);
  for (int s = 0; s < n - 1; ++s) {
    for (int i = 0; i < n; ++i) {
      add(schedule,
          first + s,
          Transfer::Kind::copy,
          at(ring, i),
          at(ring, i + 1),
          even_share(range, wrapped(i - s, n), n));
    }
  }
  return first + n - 1;
}

std::int64_t chain_copy(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments) {
  const int links = size_of(chain) - 1;
  const int k = static_cast<int>(segments);
  for (int s = 0; s < k; ++s) {
    for (int i = 0; i < links; ++i)
      add(schedule,
          first + s + i,
          Transfer::Kind::copy,
          at(chain, i),
          at(chain, i + 1),
          even_share(range, s, k));
  }
  return first + links - 1 + segments;
}

std::int64_t chain_reduce(
    Schedule& schedule, std::int64_t first, Ranks chain, Share range, std::int64_t segments) {
  const int links = size_of(chain) - 1;
  const int k = static_cast<int>(segments);
  for (int s = 0; s < k; ++s) {
    for (int i = 0; i < links; ++i)
      add(schedule,
          first + s + i,
          Transfer::Kind::reduce,
          at(chain, links - i),
          at(chain, links - i - 1),
          even_share(range, s, k));
  }
  return first + links - 1 + segments;
}

Cost chain_cost(int ranks, double count, std::int64_t segments) noexcept {
  const std::int64_t steps = ranks - 2 + segments;
  return {steps, count, static_cast<double>(steps) * count / static_cast<double>(segments)};
}

}  // namespace tandem::comm
