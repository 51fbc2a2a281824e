// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "tandem/core/check.hpp"
#include "tandem/optim/param_group.hpp"

namespace tandem::optim {

/// @throws InvalidArgument  one of these options of `group` is negative.
inline void check_not_negative(const char* who,
                               const ParamGroup& group,
                               std::initializer_list<const char*> options) {
  for (const char* option : options) {
    TANDEM_CHECK(group.get(option) >= 0,
                 who,
                 ": ",
                 option,
                 " is ",
                 group.get(option),
                 "; it may not be negative");
  }
}

/// @throws InvalidArgument  one of these options of `group` is outside of [0, 1).
inline void check_share(const char* who,
                        const ParamGroup& group,
                        std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const double share = group.get(option);
    TANDEM_CHECK(
        share >= 0 && share < 1, who, ": ", option, " is ", share, "; it must be in [0, 1)");
  }
}

}  // namespace tandem::optim
