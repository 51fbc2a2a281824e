// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of elements with their indices, for both backends.
#pragma once

#include <cstdint>

#include "kernels/sort.hpp"

namespace tandem::kernels {

/// An element and its index; -1: none, which comes last.
template <class T>
struct Ranked {
  T value;
  std::int64_t index;
};

/// a comes before b.
template <class T>
TANDEM_HD bool before(Ranking ranking, Ranked<T> a, Ranked<T> b) {
  if (a.index < 0 || b.index < 0) return a.index >= 0 && b.index < 0;
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return a_nan == ranking.nan_first;
  if (a_nan || a.value == b.value) return a.index < b.index;
  return (a.value > b.value) == ranking.largest_first;
}

}  // namespace tandem::kernels
