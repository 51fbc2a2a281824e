// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/options.hpp"

#include "tandem/core/check.hpp"

namespace tandem::parallel {

ChunkPolicy chunk_policy(const DataParallelOptions& options) {
  const int given = int{options.chunks.has_value()} + int{!options.chunk_sizes.empty()} +
                    int{options.gpu0_bsz.has_value()};
  TANDEM_CHECK(
      given <= 1, "DataParallel: give only one of chunks, chunk_sizes and gpu0_bsz, not ", given);
  if (options.gpu0_bsz) return ChunkPolicy::gpu0(*options.gpu0_bsz);
  if (!options.chunk_sizes.empty()) return ChunkPolicy::sizes(options.chunk_sizes);
  return options.chunks.value_or(ChunkPolicy::even());
}

}  // namespace tandem::parallel
