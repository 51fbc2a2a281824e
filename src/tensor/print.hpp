// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The values of a defined tensor in brackets, those of a large one shortened.
std::string printed(const Tensor& x);

}  // namespace tandem
