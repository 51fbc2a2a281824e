// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/full_shards.hpp"

#include <utility>

namespace tandem::parallel {

using Of = BlockShares::Of;

FullShards::FullShards(SharedParts parts) : SleepingShards(std::move(parts)) {
  for (int d = 0; d < size(); ++d) {
    auto& versions = versions_.emplace_back();
    for (const int b : arena(0).layout().block_indices())
      versions.push_back(shares().at(Of::values, b, d).buffer().version());
  }
}

std::vector<optim::ArenaSlice> FullShards::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (const int b : arena(0).layout().block_indices()) {
    for (int d = 0; d < size(); ++d) {
      const Share own = shares().share(b, d);
      slices.push_back({shares().device(d),
                        b,
                        own.begin,
                        own.end,
                        shares().at(Of::values, b, d),
                        shares().at(Of::gradients, b, d)});
    }
  }
  return slices;
}

// A graph from before the update is not to be used with the new values.
void FullShards::note_written(int device) {
  sleeping()[static_cast<std::size_t>(device)]->forget_values();
  auto& versions = versions_[static_cast<std::size_t>(device)];
  for (const int b : arena(device).layout().block_indices()) {
    const std::uint64_t now = shares().at(Of::values, b, device).buffer().version();
    if (std::exchange(versions[static_cast<std::size_t>(b)], now) != now)
      arena(device).params(b).buffer().bump_version();
  }
}

}  // namespace tandem::parallel
