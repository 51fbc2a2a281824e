// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/collective.hpp"

#include <array>
#include <utility>

namespace tandem::comm {

const char* name(ReduceOp op) noexcept {
  constexpr std::array kNames{
      "sum", "avg", "min", "max", "product", "band", "bor", "bxor", "premul_sum"};
  return kNames[static_cast<std::size_t>(op)];
}

const char* name(Collective::Kind kind) noexcept {
  constexpr std::array kNames{"broadcast",
                              "reduce",
                              "all_reduce",
                              "gather",
                              "scatter",
                              "all_gather",
                              "reduce_scatter",
                              "all_to_all",
                              "send",
                              "recv",
                              "split",
                              "barrier"};
  return kNames[static_cast<std::size_t>(kind)];
}

Collective Collective::broadcast(const Tensor& x, int root) {
  return {.kind = Kind::broadcast, .input = x, .output = x, .root = root};
}

Collective Collective::reduce(const Tensor& x, Reduction reduction, int root) {
  return {.kind = Kind::reduce, .input = x, .output = x, .reduction = reduction, .root = root};
}

Collective Collective::all_reduce(const Tensor& x, Reduction reduction) {
  return {.kind = Kind::all_reduce, .input = x, .output = x, .reduction = reduction};
}

Collective Collective::gather(const Tensor& part, const Tensor& whole, int root) {
  return {.kind = Kind::gather, .input = part, .output = whole, .root = root};
}

Collective Collective::scatter(const Tensor& whole, const Tensor& part, int root) {
  return {.kind = Kind::scatter, .input = whole, .output = part, .root = root};
}

Collective Collective::all_gather(const Tensor& part, const Tensor& whole) {
  return {.kind = Kind::all_gather, .input = part, .output = whole};
}

Collective Collective::reduce_scatter(const Tensor& whole,
                                      const Tensor& part,
                                      Reduction reduction) {
  return {.kind = Kind::reduce_scatter, .input = whole, .output = part, .reduction = reduction};
}

Collective Collective::all_to_all(const Tensor& input,
                                  const Tensor& output,
                                  std::vector<std::int64_t> input_counts,
                                  std::vector<std::int64_t> output_counts) {
  return {.kind = Kind::all_to_all,
          .input = input,
          .output = output,
          .input_counts = std::move(input_counts),
          .output_counts = std::move(output_counts)};
}

}  // namespace tandem::comm
