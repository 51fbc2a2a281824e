// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "tandem/libtorch/detail/optimizer_view.hpp"
#include "tandem/optim/param_group.hpp"

namespace tandem::libtorch::detail {

struct UpdatedParameter {
  at::Tensor own;
  optim::NamedParameter shown;
};

}  // namespace tandem::libtorch::detail
