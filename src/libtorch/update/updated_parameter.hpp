// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "tandem/libtorch/detail/optimizer_view.hpp"
#include "tandem/libtorch/exchange.hpp"
#include "tandem/optim/param_group.hpp"

namespace tandem::libtorch::detail {

struct UpdatedParameter {
  at::Tensor own;
  optim::NamedParameter shown;

  /// A copy of its state, which may be on the device of another share, where the parameter is.
  at::Tensor copied_state(const Tensor& value) const {
    const Device device = shown.tensor.device();
    return to_torch(value.device() == device ? value.clone() : value.to(device), own.device());
  }
};

}  // namespace tandem::libtorch::detail
