// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: an AnyModule does not say what its module's forward takes.

#include <torch/torch.h>

#include "tandem/libtorch/data_parallel.hpp"

at::Tensor run(const torch::nn::AnyModule& any, const at::Tensor& x) {
  tandem::libtorch::DataParallel dp(any);
  return dp(x);
}
