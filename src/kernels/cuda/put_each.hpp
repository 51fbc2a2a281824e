// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.hpp"

namespace tandem::kernels {
namespace detail {

/// Elements i, i + step, ... below n.
template <class Each>
struct PutSeveral {
  Each each;
  std::int64_t n, step;

  TANDEM_HD void operator()(std::int64_t i) const { put_range(each, i, n, step); }
};

}  // namespace detail

/// Puts elements [0, n) of an `Each`, as each_line has it: a thread loads several at once, which
/// for_each leaves to it alone.
template <class Each>
void put_each(const CudaStream& s, std::int64_t n, const Each& each) {
  constexpr int kSeveral = kAtOnce<detail::ValueOf<Each>>;
  const std::int64_t step = (n + kSeveral - 1) / kSeveral;
  for_each(s, step, detail::PutSeveral<Each>{each, n, step});
}

}  // namespace tandem::kernels
