// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/conv.hpp"
#include "kernels/copy.hpp"
#include "kernels/workspace.hpp"

// Convolutions of types of 16 bits where no library has them, for both backends: operands are
// widened to f32 in workspace, results are rounded once.
namespace tandem::kernels {

/// Workspace for `x` in f32, laid out as x. Null data stays null.
class WideCopy {
 public:
  template <class S>
  WideCopy(const S& s, const View& x)
      : values_(s.device, x.data == nullptr ? 0 : x.numel()),
        view_{values_.data(), DType::f32, x.shape, x.strides} {}

  const View& view() const noexcept { return view_; }

 private:
  Workspace<float> values_;
  View view_;
};

/// With the values of `x`.
class Widened : public WideCopy {
 public:
  template <class S>
  Widened(const S& s, const View& x) : WideCopy(s, x) {
    if (x.data != nullptr) copy(s, x, view());
  }
};

template <class S>
void widened_conv2d(const S& s,
                    const ConvSize& size,
                    const View& x,
                    const View& weight,
                    const View& bias,
                    const View& y) {
  const Widened wide_x(s, x), wide_weight(s, weight), wide_bias(s, bias);
  const WideCopy wide_y(s, y);
  conv2d(s, size, wide_x.view(), wide_weight.view(), wide_bias.view(), wide_y.view());
  copy(s, wide_y.view(), y);
}

template <class S>
void widened_conv2d_input_grad(
    const S& s, const ConvSize& size, const View& dy, const View& weight, const View& dx) {
  const Widened wide_dy(s, dy), wide_weight(s, weight);
  const WideCopy wide_dx(s, dx);
  conv2d_input_grad(s, size, wide_dy.view(), wide_weight.view(), wide_dx.view());
  copy(s, wide_dx.view(), dx);
}

template <class S>
void widened_conv2d_weight_grad(const S& s,
                                const ConvSize& size,
                                const View& dy,
                                const View& x,
                                const View& dweight,
                                const View& dbias) {
  const Widened wide_dy(s, dy), wide_x(s, x);
  const WideCopy wide_dweight(s, dweight), wide_dbias(s, dbias);
  conv2d_weight_grad(
      s, size, wide_dy.view(), wide_x.view(), wide_dweight.view(), wide_dbias.view());
  copy(s, wide_dweight.view(), dweight);
  if (dbias.data != nullptr) copy(s, wide_dbias.view(), dbias);
}

}  // namespace tandem::kernels
