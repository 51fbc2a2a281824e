// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/parallel/data_parallel.hpp"

struct Net : tandem::nn::Module {
  std::unique_ptr<int> once;
  tandem::Tensor forward(const tandem::Tensor& x) { return x; }
  TANDEM_MODULE(Net)
};

void wrap(Net& net) {
  tandem::parallel::DataParallel dp(net);
}
