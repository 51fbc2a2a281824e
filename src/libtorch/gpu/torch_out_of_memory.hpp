// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <c10/util/Exception.h>

#include "tandem/core/error.hpp"

namespace tandem::libtorch {

/// A GPU's memory is full, as PyTorch's allocator has said.
class TorchOutOfMemory final : public OutOfMemory {
 public:
  /// @param device  of tandem's, or "GPU 1". @param said  by PyTorch.
  TorchOutOfMemory(const std::string& device, int ordinal, const c10::Error& said);
  /// PyTorch's figures, and what to do.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace tandem::libtorch
