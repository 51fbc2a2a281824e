// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <sstream>
#include <string>
#include <type_traits>

#include "tandem/core/error.hpp"

namespace tandem::detail {

/// Streams `part`; a NaN as "nan", whose sign says nothing.
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

/// Throws InvalidArgument with the streamed parts unless `cond`: the caller's fault.
#define TANDEM_CHECK(cond, ...)                                               \
  do {                                                                        \
    if (!(cond)) [[unlikely]]                                                 \
      throw ::tandem::InvalidArgument(::tandem::detail::concat(__VA_ARGS__)); \
  } while (false)

/// Throws InternalError with place and parts unless `cond`: our fault.
#define TANDEM_ASSERT(cond, ...)                                                                   \
  do {                                                                                             \
    if (!(cond)) [[unlikely]]                                                                      \
      throw ::tandem::InternalError(                                                               \
          ::tandem::detail::concat(__FILE__, ":", __LINE__, ": " #cond " failed: ", __VA_ARGS__)); \
  } while (false)
