// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::libtorch {

/// Checks that a library of PyTorch is of the version that this one was built with: its binary
/// interface changes with each minor version, also where the linker notices nothing.
///
/// @param built, found  as in PyTorch's TORCH_ABI_VERSION.
/// @throws InvalidArgument  they differ in major or minor version.
void check_torch_version(std::uint64_t built, std::uint64_t found);
/// The same for the library that the process has loaded.
void check_torch_version();

}  // namespace tandem::libtorch
