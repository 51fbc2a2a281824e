// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// What becomes of the losses: a mean is over elements (of labels, by their weights), batch_mean
/// divides the sum by the rows (dimension 0).
enum class Reduction : std::uint8_t { none, mean, sum, batch_mean };

/// A loss before the one division that makes it a mean: over replicas, sums and weights add up.
struct WeightedSum {
  Tensor sum;     ///< scalar, on the tape
  Tensor weight;  ///< scalar, off the tape: rows, elements, or the weights of the labels counted
};

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
  /// Share of each target that is spread over all classes, by their weights.
  double label_smoothing = 0;
};

/// Softmax and negative log likelihood at once. @param logits  (N, C) or (N, C, d1, ...).
/// @param labels  i64 (or u8, i32) (N) or (N, d1, ...).
///
/// mean divides by the weight of the labels that count; without any it is NaN, as PyTorch's.
/// @throws InvalidArgument  a label is outside [0, C) and not ignore_index: row and label are
/// named; label_smoothing is outside of [0, 1].
Tensor cross_entropy(const Tensor& logits,
                     const Tensor& labels,
                     Reduction reduction = Reduction::mean,
                     const CrossEntropyOptions& options = {});
/// For exact means under any chunking.
WeightedSum cross_entropy_sum(const Tensor& logits,
                              const Tensor& labels,
                              const CrossEntropyOptions& options = {});

struct NllOptions {
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
};
/// Negative log likelihood of what log_softmax gives. Shapes, mean and errors as cross_entropy.
Tensor nll_loss(const Tensor& log_probabilities,
                const Tensor& labels,
                Reduction reduction = Reduction::mean,
                const NllOptions& options = {});
WeightedSum nll_loss_sum(const Tensor& log_probabilities,
                         const Tensor& labels,
                         const NllOptions& options = {});

// Losses of two tensors of one shape, element by element. Those that end in _sum have the number of
// elements as their weight.

/// (a - b)^2.
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);
WeightedSum mse_loss_sum(const Tensor& a, const Tensor& b);
/// |a - b|.
Tensor l1_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);
WeightedSum l1_loss_sum(const Tensor& a, const Tensor& b);
/// |a - b| - beta / 2, or (a - b)^2 / (2 beta) where that is below `beta`.
///
/// @throws InvalidArgument  beta is negative.
Tensor smooth_l1_loss(const Tensor& a,
                      const Tensor& b,
                      Reduction reduction = Reduction::mean,
                      double beta = 1);
WeightedSum smooth_l1_loss_sum(const Tensor& a, const Tensor& b, double beta = 1);
/// delta times smooth_l1_loss with that beta. @throws InvalidArgument  delta is not above 0.
Tensor huber_loss(const Tensor& a,
                  const Tensor& b,
                  Reduction reduction = Reduction::mean,
                  double delta = 1);
WeightedSum huber_loss_sum(const Tensor& a, const Tensor& b, double delta = 1);

struct BceOptions {
  Tensor weight = {};      ///< of each element; broadcasts to the logits, or undefined
  Tensor pos_weight = {};  ///< of the part of the target that is 1; likewise
};
/// Sigmoid and binary cross entropy at once. @param target  probabilities, of the logits' shape.
///
/// mean divides by the number of elements, whatever their weights.
Tensor bce_with_logits(const Tensor& logits,
                       const Tensor& target,
                       Reduction reduction = Reduction::mean,
                       const BceOptions& options = {});
WeightedSum bce_with_logits_sum(const Tensor& logits,
                                const Tensor& target,
                                const BceOptions& options = {});

enum class KlTarget : std::uint8_t { probabilities, log_probabilities };
/// target (log(target) - input): the Kullback-Leibler divergence, summed over classes.
///
/// The mathematical one is Reduction::batch_mean. @param input  logarithms of probabilities.
Tensor kl_div(const Tensor& input,
              const Tensor& target,
              Reduction reduction = Reduction::mean,
              KlTarget form = KlTarget::probabilities);
/// @param reduction  batch_mean: the weight is the number of rows, else that of elements.
WeightedSum kl_div_sum(const Tensor& input,
                       const Tensor& target,
                       Reduction reduction = Reduction::mean,
                       KlTarget form = KlTarget::probabilities);

}  // namespace tandem
