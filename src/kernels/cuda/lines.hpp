// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.hpp"
#include "kernels/cuda/places.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace detail {

inline constexpr std::int64_t kFillingLines = 256;   ///< they fill a GPU, one by a block
inline constexpr std::int64_t kShortLine = 1 << 14;  ///< a block takes no longer than a launch more

template <class Op>
struct KeepLine {
  using Total = typename Op::Total;
  Op op;
  typename Op::Line* kept;

  TANDEM_HD auto run(std::int64_t line) const { return op.run(line); }
  TANDEM_HD Total join(const Total& a, const Total& b) const { return op.join(a, b); }
  TANDEM_HD void store(std::int64_t line, const Total& total) const {
    kept[line] = op.finish(line, total);
  }
};

template <class Op>
struct PutElement {
  Op op;
  LineElements elements;
  const typename Op::Line* kept;

  TANDEM_HD void operator()(std::int64_t i) const {
    const auto [line, at] = elements(i);
    const auto each = op.each(line, kept[line]);
    each.put(at, each.load(at));
  }
};

}  // namespace detail

/// each_line, for lines whose elements lie `step` apart: of few long lines, or of lines whose
/// neighbours lie closer than their elements, each part is reduced and put by all of the GPU.
template <class Op>
void reduce_and_put(
    const CudaStream& s, std::int64_t lines, std::int64_t length, std::int64_t step, const Op& op) {
  using namespace detail;
  const bool few = lines < kFillingLines && length > kShortLine;
  const bool along = walk_of(step) == Walk::along;
  if (length <= kSerialDepth || (along && !few)) return each_line(s, lines, length, op);
  const Workspace<typename Op::Line> kept(s.device, lines);
  reduce_each(s, lines, length, walk_of(step), KeepLine<Op>{op, kept.data()});
  const LineElements elements(lines, length, step);
  for_each(s, elements.count(), PutElement<Op>{op, elements, kept.data()});
}

}  // namespace tandem::kernels
