// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/core/error.hpp"

namespace tandem {

/// The text of the InvalidArgument that `f` throws; "" if it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const InvalidArgument& e) {
    return e.what();
  }
  return "";
}

}  // namespace tandem
