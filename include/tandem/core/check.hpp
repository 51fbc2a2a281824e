// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>

#include "tandem/core/error.hpp"

namespace tandem::detail {

/// Streams `part`. A NaN is written as "nan", without its sign, which means nothing.
template <class Part>
void stream(std::ostream& s, const Part& part) {
  if constexpr (std::is_floating_point_v<Part>) {
    if (std::isnan(part)) {
      s << "nan";
      return;
    }
  }
  s << part;
}

/// Streams `parts` one after the other into a string.
template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream s;
  (stream(s, parts), ...);
  return s.str();
}

}  // namespace tandem::detail

/// Throws InvalidArgument with the streamed parts if `cond` is false: the caller made a mistake.
#define TANDEM_CHECK(cond, ...)                                               \
  do {                                                                        \
    if (!(cond)) [[unlikely]]                                                 \
      throw ::tandem::InvalidArgument(::tandem::detail::concat(__VA_ARGS__)); \
  } while (false)

/// Throws InternalError with the place and the parts if `cond` is false: tandem has a bug.
#define TANDEM_ASSERT(cond, ...)                                                                   \
  do {                                                                                             \
    if (!(cond)) [[unlikely]]                                                                      \
      throw ::tandem::InternalError(                                                               \
          ::tandem::detail::concat(__FILE__, ":", __LINE__, ": " #cond " failed: ", __VA_ARGS__)); \
  } while (false)
