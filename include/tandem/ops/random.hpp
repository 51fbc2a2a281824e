// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/factories.hpp"

namespace tandem {

/// 1 with the probability that the element of `p` gives, otherwise 0. The result has p's shape,
/// dtype and device.
///
/// Random numbers are drawn as by rand_like(p). The result is not on the tape.
/// @throws InvalidArgument  if `p` is not a float tensor.
Tensor bernoulli(const Tensor& p, const RandomOptions& random = {});

}  // namespace tandem
