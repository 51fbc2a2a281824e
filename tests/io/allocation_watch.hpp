// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tandem::testing {

/// Forgets the largest request to operator new that any thread made so far.
void reset_largest_allocation() noexcept;
/// Bytes of the largest request since the reset.
std::size_t largest_allocation() noexcept;

}  // namespace tandem::testing
