// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "tandem/parallel/straggler.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

/// The device that took the longest, where it took more than `ratio` times as long as the others
/// do, and more than 20 ms longer, which is no matter of chance.
///
/// More rows may take more time in proportion; fewer are not asked to take less, since a layer has
/// a cost of its own.
/// @param rows, times  by device; without rows it does not count.
std::optional<Straggler> find_straggler(const std::vector<Device>& devices,
                                        const std::vector<RowRange>& rows,
                                        const std::vector<std::chrono::nanoseconds>& times,
                                        double ratio);

}  // namespace tandem::parallel
