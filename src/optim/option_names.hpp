// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tandem/core/check.hpp"
#include "tandem/optim/param_group.hpp"

namespace tandem::optim {

/// @throws InvalidArgument  `known` has no such option; the text lists those that it has.
inline void check_option(std::string_view who, const Options& known, std::string_view option) {
  if (known.contains(std::string(option))) return;
  std::string names;
  for (const auto& [name, value] : known)
    names += (names.empty() ? "" : ", ") + name;
  throw InvalidArgument(
      tandem::detail::concat(who, ": there is no option '", option, "'; the options are ", names));
}

}  // namespace tandem::optim
