// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/runtime/stream.hpp"

#include "kernels/view.hpp"

namespace tandem::kernels {

/// What layer norm and group norm normalise: each row of a dense (rows, length).
///
/// Rows take turns at `groups` groups of channels; a channel has `inner` elements of a row. Layer
/// norm has one group, and a channel for each element.
struct RowLayout {
  std::int64_t rows = 0;
  std::int64_t length = 1;
  std::int64_t groups = 1;
  std::int64_t inner = 1;

  std::int64_t row_channels() const noexcept { return length / inner; }
  std::int64_t channels() const noexcept { return groups * row_channels(); }
};

/// y = (x - mean) * rstd * weight + bias with each row's mean and rstd = 1 / sqrt(var + eps).
///
/// @param weight, bias  per channel; null data: one and zero.
void row_norm(const HostStream& s,
              const RowLayout& layout,
              double eps,
              const View& x,
              const View& weight,
              const View& bias,
              const View& y,
              const View& mean,
              const View& rstd);
void row_norm(const CudaStream& s,
              const RowLayout& layout,
              double eps,
              const View& x,
              const View& weight,
              const View& bias,
              const View& y,
              const View& mean,
              const View& rstd);

/// Where the gradients go. Null data: not asked for.
struct RowNormGrads {
  View dx;
  View dweight, dbias;  ///< both or none
};

/// With h = (x - mean) * rstd and g = dy * weight: dx = rstd * (g - mean(g) - h * mean(g * h)),
/// dweight = sum(dy * h), dbias = sum(dy).
void row_norm_grad(const HostStream& s,
                   const RowLayout& layout,
                   const View& dy,
                   const View& x,
                   const View& weight,
                   const View& mean,
                   const View& rstd,
                   const RowNormGrads& grads);
void row_norm_grad(const CudaStream& s,
                   const RowLayout& layout,
                   const View& dy,
                   const View& x,
                   const View& weight,
                   const View& mean,
                   const View& rstd,
                   const RowNormGrads& grads);

}  // namespace tandem::kernels
