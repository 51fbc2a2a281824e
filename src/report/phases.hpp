// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tandem/runtime/context.hpp"

namespace tandem::report {

/// The i-th phase's name in tables and JSON. What is done in no phase is "other".
inline const char* phase_name(std::size_t i) {
  return i == 0 ? "other" : name(static_cast<Phase>(i));
}

}  // namespace tandem::report
