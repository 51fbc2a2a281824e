// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tandem::kernels {

/// The processor that the host's kernels of this process are compiled for: a level of x86-64 such
/// as "x86-64-v3", chosen at the program's start by get_cpu_capability() from those that the
/// library has, or what the library was compiled for (cmake/TandemKernels.cmake).
std::string_view variant() noexcept;

}  // namespace tandem::kernels
