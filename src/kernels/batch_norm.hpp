// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// How a dense tensor lies around its channels: (outer, channels, inner); channels-last has
/// inner 1.
struct NormLayout {
  std::int64_t outer = 0;
  std::int64_t channels = 0;
  std::int64_t inner = 1;

  std::int64_t count() const noexcept { return outer * inner; }  ///< elements per channel
};

/// What follows the normalisation in the same pass.
enum class After : std::uint8_t { nothing, relu };

/// The affine map of a channel: y = (x - mean) * scale + bias, then `after`.
struct Affine {
  View mean, scale;
  View bias;  ///< null data: zero
  After after = After::nothing;
};

/// Elements per channel of a whole batch, which the host may not know: other devices have a part.
struct BatchCount {
  double host = 0;
  const double* device = nullptr;  ///< null: `host` is the number
};

/// Moments of a batch in f64: count, then the means, then the sums of squares about them: 1 + 2 C
/// numbers.
void batch_moments(const HostStream& s,
                   const NormLayout& layout,
                   const View& x,
                   const View& moments);
void batch_moments(const CudaStream& s,
                   const NormLayout& layout,
                   const View& x,
                   const View& moments);
/// Joins the moments of parts, in their order. @param parts  (n, 1 + 2 C), dense.
void merge_moments(const HostStream& s, const View& parts, const View& moments);
void merge_moments(const CudaStream& s, const View& parts, const View& moments);
/// mean, var (biased) and 1 / sqrt(var + eps) in their dtype, from moments.
void finish_moments(const HostStream& s,
                    double eps,
                    const View& moments,
                    const View& mean,
                    const View& var,
                    const View& rstd);
void finish_moments(const CudaStream& s,
                    double eps,
                    const View& moments,
                    const View& mean,
                    const View& var,
                    const View& rstd);

/// y = affine(x).
void batch_norm(const HostStream& s,
                const NormLayout& layout,
                const View& x,
                const Affine& affine,
                const View& y);
void batch_norm(const CudaStream& s,
                const NormLayout& layout,
                const View& x,
                const Affine& affine,
                const View& y);
/// Per channel in f64: sum of dy, then sum of dy * (x - mean): 2 C numbers. dy counts where `after`
/// let it through.
void batch_norm_sums(const HostStream& s,
                     const NormLayout& layout,
                     const View& x,
                     const Affine& affine,
                     const View& dy,
                     const View& sums);
void batch_norm_sums(const CudaStream& s,
                     const NormLayout& layout,
                     const View& x,
                     const Affine& affine,
                     const View& dy,
                     const View& sums);
/// dx = (dy - sum_dy / count - (x - mean) * rstd^2 * sum_dy_centred / count) * scale.
///
/// @param sums   of the whole batch, see batch_norm_sums; null data: constants gave the statistics,
/// dx = dy * scale.
void batch_norm_input_grad(const HostStream& s,
                           const NormLayout& layout,
                           const View& x,
                           const Affine& affine,
                           const View& dy,
                           const View& sums,
                           const View& rstd,
                           const BatchCount& count,
                           const View& dx);
void batch_norm_input_grad(const CudaStream& s,
                           const NormLayout& layout,
                           const View& x,
                           const Affine& affine,
                           const View& dy,
                           const View& sums,
                           const View& rstd,
                           const BatchCount& count,
                           const View& dx);

/// dweight = sum_dy_centred * rstd and dbias = sum_dy, from batch_norm_sums of the rows at hand.
void batch_norm_parameter_grads(const HostStream& s,
                                const View& sums,
                                const View& rstd,
                                const View& dweight,
                                const View& dbias);
void batch_norm_parameter_grads(const CudaStream& s,
                                const View& sums,
                                const View& rstd,
                                const View& dweight,
                                const View& dbias);

}  // namespace tandem::kernels
