// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/parallel/data_parallel.hpp"

struct Output {
  tandem::Tensor scores;
};

struct Net : tandem::nn::Module {
  Output forward(const tandem::Tensor& x) { return {x}; }
  TANDEM_MODULE(Net)
};

void call(tandem::parallel::DataParallel<Net>& dp, const tandem::Tensor& x) {
  dp(x);
}
