// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/gradient_shards.hpp"

namespace tandem::parallel {

std::vector<optim::ArenaSlice> GradientShards::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (const Bucket& bucket : buckets()) {
    for (int d = 0; d < size(); ++d) {
      const Share own = shares().share(bucket.block, d);
      slices.push_back({shares().device(d),
                        bucket.block,
                        own.begin,
                        own.end,
                        range(arena(d).params(bucket.block), own),
                        shares().at(BlockShares::Of::gradients, bucket.block, d)});
    }
  }
  return slices;
}

}  // namespace tandem::parallel
