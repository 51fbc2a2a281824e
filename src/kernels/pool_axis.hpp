// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/divisor.hpp"

namespace tandem::kernels {

/// Input positions [begin, end) of one output position along an axis.
struct Window {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t count = 0;  ///< what an average divides by, along this axis
};

/// The windows of a pooling along an axis: of one width at one distance, cut at the input's ends,
/// or such that they cover the input. Beginnings and ends grow from window to window.
class PoolAxis {
 public:
  PoolAxis() = default;
  /// @param size     of the input. @param kernel  of a window; at most size + 2 * padding.
  /// @param counts_padding  an average divides by `kernel` where a window is cut, too.
  static PoolAxis sliding(std::int64_t size,
                          std::int64_t kernel,
                          std::int64_t stride,
                          std::int64_t padding,
                          bool counts_padding) {
    PoolAxis a;
    a.outputs_ = Divisor((size + 2 * padding - kernel) / stride + 1);
    a.size_ = size;
    a.kernel_ = kernel;
    a.stride_ = stride;
    a.padding_ = padding;
    a.counts_padding_ = counts_padding;
    return a;
  }
  static PoolAxis adaptive(std::int64_t size, std::int64_t outputs) {
    PoolAxis a;
    a.outputs_ = Divisor(outputs);
    a.size_ = size;
    return a;
  }

  TANDEM_HD std::int64_t outputs() const { return outputs_.value(); }
  TANDEM_HD Window window(std::int64_t i) const {
    if (kernel_ == 0) {
      const std::int64_t begin = outputs_.quotient(i * size_);
      const std::int64_t end = outputs_.quotient((i + 1) * size_ + outputs() - 1);
      return {begin, end, end - begin};
    }
    const std::int64_t first = i * stride_ - padding_, last = first + kernel_;
    const std::int64_t begin = first > 0 ? first : 0, end = last < size_ ? last : size_;
    return {begin, end, counts_padding_ ? kernel_ : end - begin};
  }
  /// The first window that ends behind `at`; `outputs` if there is none.
  TANDEM_HD std::int64_t first_behind(std::int64_t at) const {
    std::int64_t low = 0, high = outputs();
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (window(middle).end <= at)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

 private:
  Divisor outputs_;
  std::int64_t size_ = 0;
  std::int64_t kernel_ = 0;  // 0: adaptive
  std::int64_t stride_ = 1, padding_ = 0;
  bool counts_padding_ = false;
};

}  // namespace tandem::kernels
