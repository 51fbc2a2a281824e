// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem::comm {

/// How values of the ranks become one.
enum class ReduceOp : std::uint8_t { sum, avg, min, max, product, band, bor, bxor, premul_sum };

/// "sum", "avg", "min", "max", "product", "band", "bor", "bxor", "premul_sum".
const char* name(ReduceOp op) noexcept;

/// A reduction, as calls take it: one of ReduceOp, or `premul_sum(factor)`.
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1;  ///< of this rank, with premul_sum alone

  constexpr Reduction(ReduceOp reduce_op) noexcept : op(reduce_op) {}
};

/// The sum of every rank's values times that rank's factor.
///
/// @param factor  this rank's own, rounded to the type that the values are computed in.
constexpr Reduction premul_sum(double factor) noexcept {
  Reduction reduction = ReduceOp::premul_sum;
  reduction.factor = factor;
  return reduction;
}

/// One rank's part in a collective: what a backend carries out.
struct Collective {
  enum class Kind : std::uint8_t {
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    barrier,
  };
  Kind kind = Kind::barrier;
  Tensor input = {};   ///< what this rank gives; undefined where it gives nothing
  Tensor output = {};  ///< what this rank gets; undefined where it gets nothing
  Reduction reduction = ReduceOp::sum;
  int root = -1;  ///< -1 where the collective has none
};

/// "all_reduce".
const char* name(Collective::Kind kind) noexcept;

}  // namespace tandem::comm
