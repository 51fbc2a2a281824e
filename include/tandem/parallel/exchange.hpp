// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tandem::parallel {

/// How gradients, and changed parameters, are cut into messages: PyTorch's bucket_cap_mb, in bytes.
struct Exchange {
  std::size_t first_bucket_nbytes = std::size_t{1} << 20;  ///< sent first, so that work starts soon
  std::size_t bucket_nbytes = std::size_t{25} << 20;
};

}  // namespace tandem::parallel
