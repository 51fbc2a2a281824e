// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"

namespace tandem::kernels {

/// Which elements of a reduction are neighbours in memory.
enum class Walk : std::uint8_t {
  along,   ///< those of one output
  across,  ///< those of neighbouring outputs
};

/// The walk over lines. @param step  between the elements of a line, in memory.
inline Walk walk_of(std::int64_t step) {
  return step == 1 ? Walk::along : Walk::across;
}

/// Elements that a run of a reduction gets at most: as few as keep a sum in f32 exact enough.
inline constexpr std::int64_t kRunElements = 256;

/// The total of elements begin, begin + step, ... below `end` of an output: see reduce_each.
template <class Op>
TANDEM_HD typename Op::Total reduce_range(
    const Op& op, std::int64_t output, std::int64_t begin, std::int64_t end, std::int64_t step) {
  typename Op::Total total = op.run(output).total();
  for (; begin < end; begin += kRunElements * step) {
    const std::int64_t last = begin + kRunElements * step < end ? begin + kRunElements * step : end;
    auto run = op.run(output);
    for (std::int64_t i = begin; i < last; i += step)
      run.add(i);
    total = op.join(total, run.total());
  }
  return total;
}

}  // namespace tandem::kernels
