// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/modes/sharded_gradients.hpp"

#include <utility>

#include "parallel/update/gradient_shards.hpp"

namespace tandem::parallel::modes {

std::shared_ptr<ParameterUpdate> ShardedGradients::make_update(SharedParts parts) const {
  return std::make_shared<GradientShards>(std::move(parts));
}

}  // namespace tandem::parallel::modes
