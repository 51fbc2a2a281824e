// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem {

/// How exact products of f32 matrices are (PyTorch's torch.set_float32_matmul_precision).
enum class MatmulPrecision : std::uint8_t {
  highest,  ///< factors keep all bits of f32
  high,     ///< a GPU may round factors to TF32 (ten bits of mantissa); sums are in f32
};

/// The precision for the whole process; `highest` unless set. The host always uses full f32.
///
/// Thread-safe.
MatmulPrecision get_float32_matmul_precision() noexcept;
void set_float32_matmul_precision(MatmulPrecision precision) noexcept;

}  // namespace tandem
