// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/runtime/stream.hpp"

#include "kernels/copy.hpp"
#include "kernels/view.hpp"
#include "kernels/workspace.hpp"

namespace tandem::kernels {

/// `x` with each element that is stored once, where dimensions of stride zero repeat it.
inline View stored_once(const View& x) {
  View v = x;
  for (int d = 0; d < v.shape.size(); ++d) {
    if (v.strides[d] == 0) v.shape[d] = 1;
  }
  return v;
}

/// An operand of 16 bits in f32: dense in workspace, but for dimensions that repeat its elements.
class WidenedView {
 public:
  WidenedView(const HostStream& s, const View& x) : values_(s.device, stored_once(x).numel()) {
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

/// A result in f32, dense in workspace, to be rounded into one of 16 bits.
class WideResult {
 public:
  WideResult(const HostStream& s, const View& y)
      : values_(s.device, y.numel()),
        view_{values_.data(), DType::f32, y.shape, contiguous_strides(y.shape)} {}
  const View& view() const noexcept { return view_; }

 private:
  Workspace<float> values_;
  View view_;
};

}  // namespace tandem::kernels
