// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/modes/fully_sharded.hpp"

#include <utility>

#include "parallel/update/full_shards.hpp"

namespace tandem::parallel::modes {

std::shared_ptr<ParameterUpdate> FullySharded::make_update(SharedParts parts) const {
  return std::make_shared<FullShards>(std::move(parts));
}

}  // namespace tandem::parallel::modes
