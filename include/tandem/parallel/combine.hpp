// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::parallel {

/// How the replicas' values without rows are combined: scalars, or outputs marked Combined.
enum class Combine : std::uint8_t {
  stack,  ///< in a new first dimension, in the order of the devices (as torch.nn.DataParallel)
  mean,   ///< every replica counts the same
  weighted_mean,  ///< each replica counts in proportion to its rows
  sum,
};

}  // namespace tandem::parallel
