// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Must not compile: the test looks for the reason in the compiler's message.
#include "tandem/tensor/nest.hpp"

struct Opaque {
  tandem::Tensor x;
};

std::size_t count(const std::vector<Opaque>& value) {
  return tandem::count_leaves(value);
}
