// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "kernels/widened_matmul.hpp"

#include "kernels/copy.hpp"
#include "kernels/gemm.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {
namespace {

/// `x` with each element that is stored once, where dimensions of stride zero repeat it.
View stored_once(const View& x) {
  View v = x;
  for (int d = 0; d < v.shape.size(); ++d) {
    if (v.strides[d] == 0) v.shape[d] = 1;
  }
  return v;
}

/// An operand in f32.
class WidenedMatrix {
 public:
  WidenedMatrix(const HostStream& s, const View& x) : values_(s.device, stored_once(x).numel()) {
    const View once = stored_once(x);
    const View dense{values_.data(), DType::f32, once.shape, contiguous_strides(once.shape)};
    copy(s, once, dense);
    view_ = dense;
    view_.shape = x.shape;
    for (int d = 0; d < x.shape.size(); ++d) {
      if (x.strides[d] == 0) view_.strides[d] = 0;
    }
  }
  const View& view() const noexcept { return view_; }

 private:
  Workspace<float> values_;
  View view_;
};

}  // namespace

void widened_matmul(
    const HostStream& s, const View& a, const View& b, const View& bias, const View& c) {
  const WidenedMatrix wide_a(s, a), wide_b(s, b);
  const Workspace<float> product(s.device, c.numel());
  const View y{product.data(), DType::f32, c.shape, contiguous_strides(c.shape)};
  if (bias.data == nullptr) {
    matmul(s, wide_a.view(), wide_b.view(), {}, y);
  } else {
    const WidenedMatrix wide_bias(s, bias);
    matmul(s, wide_a.view(), wide_b.view(), wide_bias.view(), y);
  }
  copy(s, y, c);
}

}  // namespace tandem::kernels
