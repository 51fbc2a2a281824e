// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"
#include "tandem/ops/pool.hpp"

namespace tandem::nn {

/// The largest element of each window of (N, C, H, W). The default stride is the kernel's size.
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(Pair kernel, Pool2dOptions options = {})
      : kernel_(kernel), options_(options) {}
  explicit MaxPool2d(std::int64_t kernel, Pool2dOptions options = {})
      : MaxPool2d(Pair{kernel, kernel}, options) {}
  Tensor forward(const Tensor& x) { return max_pool2d(x, kernel_, options_); }
  TANDEM_MODULE(MaxPool2d)

 private:
  Pair kernel_;
  Pool2dOptions options_;
};

/// The mean of each window of (N, C, H, W).
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(Pair kernel, Pool2dOptions options = {}, PadCount count = PadCount::include)
      : kernel_(kernel), options_(options), count_(count) {}
  explicit AvgPool2d(std::int64_t kernel,
                     Pool2dOptions options = {},
                     PadCount count = PadCount::include)
      : AvgPool2d(Pair{kernel, kernel}, options, count) {}
  Tensor forward(const Tensor& x) { return avg_pool2d(x, kernel_, options_, count_); }
  TANDEM_MODULE(AvgPool2d)

 private:
  Pair kernel_;
  Pool2dOptions options_;
  PadCount count_;
};

/// Averages (N, C, H, W) to an output of size (height, width).
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Pair output) : output_(output) {}
  explicit AdaptiveAvgPool2d(std::int64_t output) : AdaptiveAvgPool2d(Pair{output, output}) {}
  Tensor forward(const Tensor& x) { return adaptive_avg_pool2d(x, output_); }
  TANDEM_MODULE(AdaptiveAvgPool2d)

 private:
  Pair output_;
};

}  // namespace tandem::nn
