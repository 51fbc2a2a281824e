// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

// NVML is the driver's: a machine that only builds has none, so it is loaded when it is asked.
namespace tandem::cuda {

/// Bytes of a GPU's memory that this process holds, by NVML; none where it does not tell.
///
/// Thread-safe. NVML is opened at the first call, and stays open until the process ends.
std::optional<std::size_t> held_by_process(int gpu);

}  // namespace tandem::cuda
