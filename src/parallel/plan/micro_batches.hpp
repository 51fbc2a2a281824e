// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// Cuts a batch into `count` micro-batches (at most one per row), and each of them into rows by
/// device.
///
/// Micro-batches are runs of the batch's rows whose sizes differ by at most one. They are the same
/// for any number of devices, so an op that sees a whole micro-batch (batch norm) does not depend
/// on that number. Each is divided in proportion to `plan`, so that a device's rows add up to its
/// rows in the plan.
///
/// @param plan  each device's rows of the whole batch.
/// @return by micro-batch, by device.
std::vector<std::vector<RowRange>> cut_micro_batches(const std::vector<RowRange>& plan,
                                                     const std::vector<Device>& devices,
                                                     std::int64_t count);

}  // namespace tandem::parallel
