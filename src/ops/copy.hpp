// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Where the elements of `x` begin in its buffer.
std::size_t first_byte(const Tensor& x);
/// `x` on another device, through one counted copy of its bytes; off the tape.
Tensor transferred(const Tensor& x, Device device, NonBlocking non_blocking = NonBlocking::no);

}  // namespace tandem
