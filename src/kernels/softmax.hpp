// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/for_each.hpp"
#include "kernels/view.hpp"

// f32 or f64, any strides; sums over classes are taken in f64.
namespace tandem::kernels {

enum class SoftmaxForm : std::uint8_t { softmax, log_softmax };

/// y = softmax(x) or its logarithm along `dim`.
void softmax(const HostStream& s, SoftmaxForm form, int dim, const View& x, const View& y);
void softmax(const CudaStream& s, SoftmaxForm form, int dim, const View& x, const View& y);
/// Gradient by the output: dx = y (dy - sum(dy y)), or dy - exp(y) sum(dy).
void softmax_grad(
    const HostStream& s, SoftmaxForm form, int dim, const View& dy, const View& y, const View& dx);
void softmax_grad(
    const CudaStream& s, SoftmaxForm form, int dim, const View& dy, const View& y, const View& dx);

/// The labels of a cross entropy.
struct Labels {
  View index;         ///< i64, of the logits' shape without the classes (dimension 1)
  View class_weight;  ///< (C) of the logits' dtype, or no data
  std::int64_t ignored;
};

/// weights = the weight of each label, losses = weight times its negative log likelihood; both zero
/// where it is ignored.
void cross_entropy(const HostStream& s,
                   const View& logits,
                   const Labels& labels,
                   const View& losses,
                   const View& weights);
void cross_entropy(const CudaStream& s,
                   const View& logits,
                   const Labels& labels,
                   const View& losses,
                   const View& weights);
/// dlogits = dlosses * weights * (softmax(logits) - one hot label); zero where it is ignored.
void cross_entropy_grad(const HostStream& s,
                        const View& dlosses,
                        const View& logits,
                        const Labels& labels,
                        const View& dlogits);
void cross_entropy_grad(const CudaStream& s,
                        const View& dlosses,
                        const View& logits,
                        const Labels& labels,
                        const View& dlogits);

}  // namespace tandem::kernels
