// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

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

class Algorithm;

/// As the rank that a message is received from: whoever sends one.
inline constexpr int any_source = -1;

/// One rank's part in a collective: what a backend carries out.
///
/// The functions make what the calls of Communicator of the same names start.
struct Collective {
  enum class Kind : std::uint8_t {
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    all_to_all,
    send,
    recv,
    split,
    barrier,  // the last
  };
  Kind kind = Kind::barrier;
  Tensor input = {};   ///< what this rank gives; undefined where it gives nothing
  Tensor output = {};  ///< what this rank gets; undefined where it gets nothing
  Reduction reduction = ReduceOp::sum;
  int root = -1;  ///< of send and recv the other rank; -1 where the collective has none
  int tag = 0;    ///< of send and recv
  std::vector<std::int64_t> input_counts = {};   ///< of all_to_all, by rank; none: even parts
  std::vector<std::int64_t> output_counts = {};  ///< likewise
  const Algorithm* algorithm = nullptr;  ///< see algorithms.hpp; null: as the group was made

  static Collective broadcast(const Tensor& x, int root);
  static Collective reduce(const Tensor& x, Reduction reduction, int root);
  static Collective all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum);
  static Collective gather(const Tensor& part, const Tensor& whole, int root);
  static Collective scatter(const Tensor& whole, const Tensor& part, int root);
  static Collective all_gather(const Tensor& part, const Tensor& whole);
  static Collective reduce_scatter(const Tensor& whole,
                                   const Tensor& part,
                                   Reduction reduction = ReduceOp::sum);
  static Collective all_to_all(const Tensor& input,
                               const Tensor& output,
                               std::vector<std::int64_t> input_counts = {},
                               std::vector<std::int64_t> output_counts = {});
};

/// "all_reduce".
const char* name(Collective::Kind kind) noexcept;

}  // namespace tandem::comm
