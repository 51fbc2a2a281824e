// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/module.hpp"

namespace tandem::testing {

/// Elements of all parameters.
inline std::int64_t parameter_count(const nn::Module& module) {
  std::int64_t n = 0;
  for (const Tensor& p : module.parameters())
    n += p.numel();
  return n;
}

}  // namespace tandem::testing
