// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::comm {

/// How the values of the ranks are combined.
enum class ReduceOp : std::uint8_t { sum, avg, min, max, product, band, bor, bxor, premul_sum };

/// "sum", "avg", "min", "max", "product", "band", "bor", "bxor", "premul_sum".
const char* name(ReduceOp op) noexcept;

/// The reduction argument of a call: a ReduceOp, or `premul_sum(factor)`.
struct Reduction {
  ReduceOp op = ReduceOp::sum;
  double factor = 1;  ///< this rank's factor; only for premul_sum

  constexpr Reduction(ReduceOp reduce_op) noexcept : op(reduce_op) {}
};

/// The sum over the ranks of each rank's values times its factor.
///
/// @param factor  this rank's factor; it is rounded to the type that the values are computed in.
constexpr Reduction premul_sum(double factor) noexcept {
  Reduction reduction = ReduceOp::premul_sum;
  reduction.factor = factor;
  return reduction;
}

class Algorithm;

/// Given as the rank to receive from, it means any rank that sends a message.
inline constexpr int any_source = -1;

/// One rank's part in a collective, which a backend carries out.
///
/// The functions make the collectives that Communicator's calls of the same names start.
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
    barrier,  // stays last
  };
  Kind kind = Kind::barrier;
  Tensor input = {};   ///< what this rank gives; undefined if it gives nothing
  Tensor output = {};  ///< what this rank gets; undefined if it gets nothing
  Reduction reduction = ReduceOp::sum;
  int root = -1;  ///< for send and recv, the other rank; -1 if the collective has no root
  int tag = 0;    ///< for send and recv
  std::vector<std::int64_t> input_counts = {};   ///< for all_to_all, by rank; empty: even parts
  std::vector<std::int64_t> output_counts = {};  ///< likewise
  const Algorithm* algorithm = nullptr;  ///< see algorithms.hpp; null: the group's own choice
  /// What it is for, which the ranks compare: "values of 'blocks.3'". Of a long text the end
  /// counts.
  std::string purpose = {};

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
