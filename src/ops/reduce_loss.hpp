// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/loss.hpp"

namespace tandem {

/// The losses as `reduction` asks for them; a mean is over the elements.
Tensor reduce_loss(const Tensor& losses, Reduction reduction);

}  // namespace tandem
