// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/gradient_shards.hpp"

namespace tandem::parallel {

std::vector<optim::ArenaSlice> GradientShards::slices() const {
  std::vector<optim::ArenaSlice> slices;
  // Those of frozen blocks, too: their state stays.
  for (const int b : arena(0).layout().block_indices()) {
    for (int d = 0; d < size(); ++d) {
      const Share own = shares().share(b, d);
      slices.push_back({shares().device(d),
                        b,
                        own.begin,
                        own.end,
                        range(arena(d).params(b), own),
                        shares().at(BlockShares::Of::gradients, b, d)});
    }
  }
  return slices;
}

}  // namespace tandem::parallel
