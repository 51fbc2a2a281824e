// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tandem::libtorch {

/// Bytes of PyTorch's allocator on a GPU.
struct TorchReserved {
  std::size_t now = 0;
  std::size_t peak = 0;
  std::size_t most = 0;  ///< what it could have, with what other programs leave
};
/// Zeroes where the GPU does not answer any more.
TorchReserved reserved_of(int ordinal) noexcept;

/// Blocks that are kept and unused go back to the GPUs. Waits for them.
///
/// @param ordinal  whose failure it is.
void empty_cache(int ordinal);
/// The same, and reserved_of(ordinal).peak begins anew: it is then what a program needs, and does
/// not depend on the ones before.
void begin_reserved_peak(int ordinal);

}  // namespace tandem::libtorch
