// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/nn/module.hpp"

struct Net : tandem::nn::Module {
  tandem::Tensor weight;
  void forward() {}
  TANDEM_MODULE(Net, weight)
};
