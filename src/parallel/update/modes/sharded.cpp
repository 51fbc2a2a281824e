// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/modes/sharded.hpp"

#include <utility>

#include "parallel/update/shards.hpp"

namespace tandem::parallel::modes {

std::shared_ptr<ParameterUpdate> Sharded::make_update(SharedParts parts) const {
  return std::make_shared<Shards>(std::move(parts));
}

}  // namespace tandem::parallel::modes
