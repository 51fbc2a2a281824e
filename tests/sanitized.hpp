// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::testing {

/// Whether the tests run under a sanitizer, which makes them ten times slower.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Tests that let each piece of a step fail try one in so many of them.
inline constexpr int kFaultStride = kSanitized ? 3 : 1;

}  // namespace tandem::testing
