// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// Philox 4x32-10 (Random123): the numbers are a pure function of key and place, so that they do not
// depend on threads or devices, nor on the strides of y.
namespace tandem::kernels {

/// Where the numbers of a tensor lie: which stream of numbers, and where in it. In row-major order,
/// runs of `length` elements have numbers that follow each other; the first run's begin at `begin`,
/// the next one's `stride` later.
struct RandomPlace {
  std::uint64_t seed = 0;
  std::uint64_t draw = 0;
  std::int64_t begin = 0;
  std::int64_t length = -1;  ///< -1: all elements are one run
  std::int64_t stride = 0;
};

/// Uniform in [0, 1), f32 or f64.
template <class S>
void uniform(const S& s, const RandomPlace& place, const View& y);
/// Standard normal, f32 or f64.
template <class S>
void normal(const S& s, const RandomPlace& place, const View& y);
/// Integers in [low, high), any dtype.
template <class S>
void randint(
    const S& s, const RandomPlace& place, std::int64_t low, std::int64_t high, const View& y);

}  // namespace tandem::kernels
