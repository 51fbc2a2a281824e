// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/check.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/dropout.hpp"

namespace tandem::nn {

/// Sets elements to zero with probability `p` in training. In evaluation it is the identity.
///
/// Masks depend on the seed, the count of top-level forwards, the module's path and the row's index
/// in the whole batch. They do not depend on the devices.
class Dropout : public Module {
 public:
  /// @throws InvalidArgument  if `p` is outside [0, 1).
  explicit Dropout(double p = 0.5, DropoutOptions options = {}) : p_(p), options_(options) {
    TANDEM_CHECK(p >= 0 && p < 1, "Dropout: p must be a probability in [0, 1), got ", p);
  }
  Tensor forward(const Tensor& x) { return is_training() && p_ > 0 ? dropout(x, p_, options_) : x; }
  TANDEM_MODULE(Dropout)

 private:
  double p_;
  DropoutOptions options_;
};

}  // namespace tandem::nn
