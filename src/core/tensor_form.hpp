// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/core/dtype.hpp"
#include "tandem/core/shape.hpp"

namespace tandem {

/// What a tensor is, without its elements.
struct TensorForm {
  DType dtype = DType::f32;
  Shape shape = {};
  std::string text = {};  ///< for messages: "f32 (2, 3) on cpu:0"
};

}  // namespace tandem
