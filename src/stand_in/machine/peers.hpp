// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::stand_in {

/// What GPUs say of their peers, and what a copy between them does.
enum class Peers : std::uint8_t {
  all,          ///< all reach each other
  none,         ///< none does
  wrong_bytes,  ///< they say that they do; a copy or a collective changes a byte on its way
  hanging,      ///< they say that they do; a copy or a collective does not end
};

}  // namespace tandem::stand_in
