// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/parallel/rank_error.hpp"

#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::parallel {

RankError::RankError(int r, Device d, const std::string& cause, std::vector<std::string> more)
    : Error([&] {
        std::string text = tandem::detail::concat("rank ", r, " on ", d, ": ", cause);
        for (const std::string& other : more)
          text += "\n  also " + other;
        return text;
      }()),
      rank(r),
      device(d),
      others(std::move(more)) {}

}  // namespace tandem::parallel
