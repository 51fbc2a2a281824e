// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

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
inline constexpr int kMostAtOnce = 8;
inline constexpr std::int64_t kSerialDepth = 16;  ///< up to it a thread reduces an output

/// Elements that a thread asks for before it waits for the first of them: up to 48 bytes.
template <class Value>
inline constexpr int kAtOnce =
    static_cast<int>(std::bit_floor(std::clamp<std::size_t>(48 / sizeof(Value), 1, kMostAtOnce)));

namespace detail {

template <class F>
using ValueOf = decltype(std::declval<const F&>().load(std::int64_t{0}));

template <class Run, std::size_t... I>
TANDEM_HD void add_some(Run& run, std::int64_t i, std::int64_t step, std::index_sequence<I...>) {
  const ValueOf<Run> values[] = {run.load(i + std::int64_t{I} * step)...};
  run.add(values);
}

/// Adds elements i, i + step, ... below `end` to `run`: kCount at a time, then fewer.
template <int kCount, class Run>
TANDEM_HD void add_elements(Run& run, std::int64_t i, std::int64_t end, std::int64_t step) {
  for (; i + (kCount - 1) * step < end; i += kCount * step)
    add_some(run, i, step, std::make_index_sequence<kCount>());
  if constexpr (kCount > 1) add_elements<kCount / 2>(run, i, end, step);
}

}  // namespace detail

/// The total of elements begin, begin + step, ... below `end` of an output: see reduce_each.
template <class Op>
TANDEM_HD typename Op::Total reduce_range(
    const Op& op, std::int64_t output, std::int64_t begin, std::int64_t end, std::int64_t step) {
  typename Op::Total total = op.run(output).total();
  for (; begin < end; begin += kRunElements * step) {
    const std::int64_t last = begin + kRunElements * step < end ? begin + kRunElements * step : end;
    auto run = op.run(output);
    detail::add_elements<kAtOnce<detail::ValueOf<decltype(run)>>>(run, begin, last, step);
    total = op.join(total, run.total());
  }
  return total;
}

namespace detail {

template <class Each, std::size_t... I>
TANDEM_HD void put_some(const Each& each,
                        std::int64_t i,
                        std::int64_t step,
                        std::index_sequence<I...>) {
  const ValueOf<Each> values[] = {each.load(i + std::int64_t{I} * step)...};
  (each.put(i + std::int64_t{I} * step, values[I]), ...);
}

/// Puts elements i, i + step, ... below `end` of a line: kCount at a time, then fewer.
template <int kCount, class Each>
TANDEM_HD void put_elements(const Each& each, std::int64_t i, std::int64_t end, std::int64_t step) {
  for (; i + (kCount - 1) * step < end; i += kCount * step)
    put_some(each, i, step, std::make_index_sequence<kCount>());
  if constexpr (kCount > 1) put_elements<kCount / 2>(each, i, end, step);
}

}  // namespace detail

/// Puts elements begin, begin + step, ... below `end` of a line: see each_line.
template <class Each>
TANDEM_HD void put_range(const Each& each,
                         std::int64_t begin,
                         std::int64_t end,
                         std::int64_t step) {
  detail::put_elements<kAtOnce<detail::ValueOf<Each>>>(each, begin, end, step);
}

/// One thread reduces a line and puts its elements.
template <class Op>
struct LineSerial {
  Op op;
  std::int64_t length;
  TANDEM_HD void operator()(std::int64_t line) const {
    const typename Op::Line of = op.finish(line, reduce_range(op, line, 0, length, 1));
    put_range(op.each(line, of), 0, length, 1);
  }
};

}  // namespace tandem::kernels
