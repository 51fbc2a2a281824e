// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// Cuts a batch into `count` micro-batches (fewer where it has fewer rows), and each into rows by
/// device.
///
/// Micro-batches are runs of the batch's rows whose sizes differ by at most one, the same for any
/// number of devices: what looks at a whole micro-batch (batch norm) does not depend on how many
/// there are. Each is shared out in proportion to `plan`, so that the rows of a device add up to
/// its rows of the plan.
///
/// @param plan  rows of each device for the whole batch.
/// @return by micro-batch, by device.
std::vector<std::vector<RowRange>> cut_micro_batches(const std::vector<RowRange>& plan,
                                                     const std::vector<Device>& devices,
                                                     std::int64_t count);

}  // namespace tandem::parallel
