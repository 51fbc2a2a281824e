// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::sim {

/// By how many standard deviations the slowest of n GPUs is slower than their mean, as is to be
/// expected if times are distributed normally: 0, 0.564, 0.846, 1.03, ... 1.42 for 8.
///
/// @param n  at least 1
double slowest_gpu(int n);

}  // namespace tandem::sim
