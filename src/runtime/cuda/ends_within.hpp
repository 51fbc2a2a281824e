// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

struct CUstream_st;

namespace tandem::cuda {

/// Waits for a stream's work where no context's deadline applies.
///
/// @return  whether the work ended successfully within `patience`.
bool ends_within(std::chrono::steady_clock::duration patience, CUstream_st* stream) noexcept;

}  // namespace tandem::cuda
