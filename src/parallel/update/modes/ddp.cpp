// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/modes/ddp.hpp"

#include <utility>

#include "parallel/update/copies.hpp"

namespace tandem::parallel::modes {

std::shared_ptr<ParameterUpdate> Ddp::make_update(SharedParts parts) const {
  return std::make_shared<Copies>(std::move(parts));
}

}  // namespace tandem::parallel::modes
