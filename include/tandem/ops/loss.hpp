// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// How the losses of the elements are reduced. `mean` averages over elements, or over labels by
/// their weights. `batch_mean` divides the sum by the number of rows (the size of dimension 0).
enum class Reduction : std::uint8_t { none, mean, sum, batch_mean };

/// A loss before the division that makes it a mean. The sums and the weights of several replicas
/// can be added up.
struct WeightedSum {
  Tensor sum;     ///< scalar, on the tape
  Tensor weight;  ///< scalar, off the tape: number of rows or elements, or sum of label weights
};

struct CrossEntropyOptions {
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
  /// The share of each target that is spread over all classes, by their weights.
  double label_smoothing = 0;
};

/// Softmax and negative log likelihood in one op.
///
/// `mean` divides by the total weight of the labels that are not ignored. If all are ignored the
/// mean is NaN, as in PyTorch.
/// @param logits  (N, C) or (N, C, d1, ...)
/// @param labels  (N) or (N, d1, ...) of i64, u8 or i32
/// @throws InvalidArgument  if a label is outside [0, C) and is not ignore_index (the message has
///                          its row and value), or label_smoothing is outside [0, 1].
Tensor cross_entropy(const Tensor& logits,
                     const Tensor& labels,
                     Reduction reduction = Reduction::mean,
                     const CrossEntropyOptions& options = {});
/// The sum and the weight that make an exact mean, however the batch is chunked.
WeightedSum cross_entropy_sum(const Tensor& logits,
                              const Tensor& labels,
                              const CrossEntropyOptions& options = {});

struct NllOptions {
  std::int64_t ignore_index = -100;
  Tensor class_weight = {};  ///< (C) or undefined
};
/// Negative log likelihood of the result of log_softmax. Shapes, `mean` and errors are those of
/// cross_entropy.
Tensor nll_loss(const Tensor& log_probabilities,
                const Tensor& labels,
                Reduction reduction = Reduction::mean,
                const NllOptions& options = {});
WeightedSum nll_loss_sum(const Tensor& log_probabilities,
                         const Tensor& labels,
                         const NllOptions& options = {});

// Elementwise losses of two tensors of the same shape. The functions that end in _sum return the
// number of elements as the weight.

/// (a - b)^2.
Tensor mse_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);
WeightedSum mse_loss_sum(const Tensor& a, const Tensor& b);
/// |a - b|.
Tensor l1_loss(const Tensor& a, const Tensor& b, Reduction reduction = Reduction::mean);
WeightedSum l1_loss_sum(const Tensor& a, const Tensor& b);
/// |a - b| - beta / 2, or (a - b)^2 / (2 beta) where |a - b| is below `beta`.
///
/// @throws InvalidArgument  if `beta` is negative.
Tensor smooth_l1_loss(const Tensor& a,
                      const Tensor& b,
                      Reduction reduction = Reduction::mean,
                      double beta = 1);
WeightedSum smooth_l1_loss_sum(const Tensor& a, const Tensor& b, double beta = 1);
/// `delta` times smooth_l1_loss with beta = delta.
///
/// @throws InvalidArgument  if `delta` is not above 0.
Tensor huber_loss(const Tensor& a,
                  const Tensor& b,
                  Reduction reduction = Reduction::mean,
                  double delta = 1);
WeightedSum huber_loss_sum(const Tensor& a, const Tensor& b, double delta = 1);

struct BceOptions {
  Tensor weight = {};  ///< factor of each element's loss; broadcasts to the logits, or undefined
  /// Factor of the loss of the positive class; broadcasts to the logits, or undefined.
  Tensor pos_weight = {};
};
/// Sigmoid and binary cross entropy in one op.
///
/// `mean` divides by the number of elements, whatever their weights.
/// @param target  probabilities, of the logits' shape
Tensor bce_with_logits(const Tensor& logits,
                       const Tensor& target,
                       Reduction reduction = Reduction::mean,
                       const BceOptions& options = {});
WeightedSum bce_with_logits_sum(const Tensor& logits,
                                const Tensor& target,
                                const BceOptions& options = {});

enum class KlTarget : std::uint8_t { probabilities, log_probabilities };
/// target * (log(target) - input) for each element; its sum over classes is the Kullback-Leibler
/// divergence.
///
/// Reduction::batch_mean gives the mathematical divergence.
/// @param input  logarithms of probabilities
Tensor kl_div(const Tensor& input,
              const Tensor& target,
              Reduction reduction = Reduction::mean,
              KlTarget form = KlTarget::probabilities);
/// @param reduction  With batch_mean the weight is the number of rows, otherwise the number of
///                   elements.
WeightedSum kl_div_sum(const Tensor& input,
                       const Tensor& target,
                       Reduction reduction = Reduction::mean,
                       KlTarget form = KlTarget::probabilities);

}  // namespace tandem
