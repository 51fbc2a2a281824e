// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/dtype.hpp"

namespace tandem::testing {

/// Half a step of a 16-bit type at 1.
inline double half_step(DType t) {
  return t == DType::bf16 ? 0x1p-8 : 0x1p-11;
}

}  // namespace tandem::testing
