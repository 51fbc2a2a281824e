// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// Joins the dimensions `start` to `end`, inclusive, into one. Negative values count from the end.
class Flatten : public Module {
 public:
  explicit Flatten(int start = 1, int end = -1) : start_(start), end_(end) {}
  Tensor forward(const Tensor& x) { return x.flatten(start_, end_); }
  TANDEM_MODULE(Flatten)

 private:
  int start_;
  int end_;
};

/// Returns its argument.
struct Identity : Module {
  Tensor forward(const Tensor& x) { return x; }
  TANDEM_MODULE(Identity)
};

}  // namespace tandem::nn
