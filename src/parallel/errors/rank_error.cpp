// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/rank_error.hpp"

#include <utility>

#include "tandem/core/check.hpp"

#include "parallel/errors/failures.hpp"

namespace tandem::parallel {

RankError::RankError(int r, Device d, const std::string& cause, std::vector<std::string> more)
    : Error(tandem::detail::concat("rank ", r, " on ", d, ": ", cause, also(more, cause))),
      rank(r),
      device(d),
      others(std::move(more)) {}

}  // namespace tandem::parallel
