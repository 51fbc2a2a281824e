// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "libtorch/kernels/kernel_library.hpp"

namespace tandem::libtorch {

torch::Library& kernel_library(const char* name, c10::DispatchKey key) {
  return *new torch::Library(torch::Library::IMPL, name, key, __FILE__, __LINE__);
}

}  // namespace tandem::libtorch
