// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/runtime/matmul_precision.hpp"

#include <atomic>

#include "tandem/runtime/runtime.hpp"

namespace tandem {

MatmulPrecision get_float32_matmul_precision() noexcept {
  return Runtime::instance().matmul_precision().load(std::memory_order_relaxed);
}

void set_float32_matmul_precision(MatmulPrecision precision) noexcept {
  Runtime::instance().matmul_precision().store(precision, std::memory_order_relaxed);
}

}  // namespace tandem
