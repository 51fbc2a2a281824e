// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem {

/// Spreads the bits of a number: neighbours have nothing in common afterwards.
///
/// @source SplitMix64 (Steele, Lea, Flood 2014)
constexpr std::uint64_t spread_bits(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

inline constexpr std::uint64_t kSplitMixStep = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio

/// The index-th number of SplitMix64 from `base` on, counted from 0.
constexpr std::uint64_t splitmix64(std::uint64_t base, std::uint64_t index) noexcept {
  return spread_bits(base + (index + 1) * kSplitMixStep);
}

}  // namespace tandem
