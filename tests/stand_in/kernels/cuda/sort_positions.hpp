// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/cuda/launch.hpp"

// The twin of the header of this name in src.
namespace tandem::kernels {

/// sorted = keys in ascending order of their lowest `bits`, positions = where each was; equal keys
/// keep their order.
inline void sort_positions(const CudaStream& s,
                           std::int64_t n,
                           const std::int64_t* keys,
                           int bits,
                           std::int64_t* sorted,
                           std::int64_t* positions) {
  stand_in::launch(s.native, [=] {
    const auto key = [=](std::int64_t at) {
      return static_cast<std::uint64_t>(keys[at]) & ((std::uint64_t{1} << bits) - 1);
    };
    std::iota(positions, positions + n, std::int64_t{0});
    std::stable_sort(
        positions, positions + n, [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
    std::transform(positions, positions + n, sorted, [=](std::int64_t at) { return keys[at]; });
  });
}

}  // namespace tandem::kernels
