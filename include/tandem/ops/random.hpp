// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/factories.hpp"

namespace tandem {

/// 1 with the probability that each element of `p` says, else 0; of p's shape, dtype and device.
///
/// The numbers are drawn as rand_like(p)'s are. Not on the tape.
/// @throws InvalidArgument  `p` is no float tensor.
Tensor bernoulli(const Tensor& p, const RandomOptions& random = {});

}  // namespace tandem
