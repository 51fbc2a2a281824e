// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem::data {

/// The indices of an epoch, in order. A pure function of the epoch, so that a run can go on
/// anywhere.
using Sampler = std::function<std::vector<std::int64_t>(std::int64_t epoch)>;

/// 0 to size - 1, in each epoch.
///
/// @throws InvalidArgument  `size` is negative.
Sampler sequential_sampler(std::int64_t size);

/// A permutation of 0 to size - 1 that follows from (seed, epoch, size) alone, on every machine.
///
/// @throws InvalidArgument  `size` is negative.
Sampler random_sampler(std::int64_t size, std::uint64_t seed);

}  // namespace tandem::data
