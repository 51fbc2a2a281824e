// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

enum class Reduction : std::uint8_t { none, mean, sum };

/// A loss before the one division that makes it a mean: over replicas, sums and weights add up.
struct WeightedSum {
  Tensor sum;     ///< scalar, on the tape
  Tensor weight;  ///< scalar, off the tape: rows, elements, or the weights of the labels counted
};

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  Tensor class_weight;  ///< (C) or undefined
};

/// Softmax and negative log likelihood at once. @param logits  (N, C) or (N, C, d1, ...).
/// @param labels  i64 (or u8, i32) (N) or (N, d1, ...).
///
/// mean divides by the weight of the labels that count; without any it is NaN, as PyTorch's.
/// @throws InvalidArgument  a label is outside [0, C) and not ignore_index: row and label are
/// named.
Tensor cross_entropy(const Tensor& logits,
                     const Tensor& labels,
                     Reduction reduction = Reduction::mean,
                     const CrossEntropyOptions& options = {});
/// For exact means under any chunking.
WeightedSum cross_entropy_sum(const Tensor& logits,
                              const Tensor& labels,
                              const CrossEntropyOptions& options = {});

/// (a - b)^2.
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);
WeightedSum mse_loss_sum(const Tensor& a, const Tensor& b);

}  // namespace tandem
