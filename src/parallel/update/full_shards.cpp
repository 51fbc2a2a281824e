// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/full_shards.hpp"

namespace tandem::parallel {

using Of = BlockShares::Of;

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

void FullShards::note_written(int device) {
  sleeping()[static_cast<std::size_t>(device)]->note_updated();
}

}  // namespace tandem::parallel
