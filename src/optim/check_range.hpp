// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/optim/param_group.hpp"

namespace tandem::optim {

/// @throws InvalidArgument  one of these options of `group` is negative or not finite.
inline void check_not_negative(const std::string& who,
                               const ParamGroup& group,
                               std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const double value = group.get(option);
    TANDEM_CHECK(value >= 0, who, ": ", option, " is ", value, "; it may not be negative");
    TANDEM_CHECK(std::isfinite(value), who, ": ", option, " is ", value, "; it must be finite");
  }
}

/// @throws InvalidArgument  one of these options of `group` is outside of [0, 1).
inline void check_share(const std::string& who,
                        const ParamGroup& group,
                        std::initializer_list<const char*> options) {
  for (const char* option : options) {
    const double share = group.get(option);
    TANDEM_CHECK(
        share >= 0 && share < 1, who, ": ", option, " is ", share, "; it must be in [0, 1)");
  }
}

/// @throws InvalidArgument  this option of `group` is neither 0 nor 1.
inline void check_flag(const std::string& who, const ParamGroup& group, const char* option) {
  const double flag = group.get(option);
  TANDEM_CHECK(flag == 0 || flag == 1, who, ": ", option, " is ", flag, "; it must be 0 or 1");
}

}  // namespace tandem::optim
