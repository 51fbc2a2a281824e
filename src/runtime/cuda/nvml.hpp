// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

// NVML belongs to the driver, and a machine that only builds may have none, so it is loaded on use.
namespace tandem::cuda {

/// Bytes of a GPU's memory that this process holds, according to NVML; none if NVML does not tell.
///
/// Thread-safe. NVML is opened at the first call, and stays open until the process ends.
std::optional<std::size_t> held_by_process(int gpu);

}  // namespace tandem::cuda
