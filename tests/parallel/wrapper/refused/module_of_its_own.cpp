// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/nn/linear.hpp"

struct Net : tandem::nn::Module {
  tandem::nn::Linear head{2, 1};
  tandem::Tensor forward(const tandem::Tensor& x) { return head(x); }
};

Net net;
