// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

#include "kernels/view.hpp"

namespace tandem {

/// The kernel's view of a tensor.
inline kernels::View view_of(const Tensor& x) {
  return {x.data(), x.dtype(), x.shape(), x.strides()};
}

}  // namespace tandem
