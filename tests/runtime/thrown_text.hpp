// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace tandem::testing {

/// What the `E` that `f` throws says; "nothing was thrown" or the other exception's text otherwise.
template <class E, class F>
std::string thrown_text(F&& f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another type was thrown: ") + e.what();
  }
  return "nothing was thrown";
}

}  // namespace tandem::testing
