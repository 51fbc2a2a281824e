// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include <torch/csrc/jit/api/module.h>
#include <torch/nn/module.h>

#include "tandem/libtorch/data_parallel.hpp"

void wrap(const torch::jit::Module& scripted) {
  tandem::libtorch::DataParallel dp(scripted, {.gpu0_bsz = 1});
}
