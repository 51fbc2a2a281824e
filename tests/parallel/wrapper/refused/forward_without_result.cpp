// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/parallel/data_parallel.hpp"

struct Net : tandem::nn::Module {
  void forward(const tandem::Tensor&) {}
  TANDEM_MODULE(Net)
};

void call(tandem::parallel::DataParallel<Net>& dp, const tandem::Tensor& x) {
  dp(x);
}
