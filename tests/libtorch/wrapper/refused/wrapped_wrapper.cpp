// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include <torch/nn/modules/linear.h>

#include "tandem/libtorch/data_parallel.hpp"

void wrap(const tandem::libtorch::DataParallel<torch::nn::LinearImpl>& dp) {
  tandem::libtorch::DataParallel again(dp, {.gpu0_bsz = 1});
}
