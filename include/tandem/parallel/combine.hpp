// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::parallel {

/// What becomes of the replicas' values that have no rows: scalars, or what is marked Combined.
enum class Combine : std::uint8_t {
  stack,          ///< a new first dimension, in the order of devices (torch.nn.DataParallel)
  mean,           ///< each replica counts the same
  weighted_mean,  ///< each counts as many times as it has rows
  sum,
};

}  // namespace tandem::parallel
