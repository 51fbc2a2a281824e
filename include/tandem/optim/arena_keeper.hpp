// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/tensor/tensor.hpp"

namespace tandem::optim {

class Arena;

/// Keeps the bytes of an arena whose blocks have no memory but while they are used: those of the
/// gradients, or of the values too.
class ArenaKeeper {
 public:
  virtual ~ArenaKeeper() = default;
  virtual bool keeps_values() const noexcept = 0;
  /// Where values are kept: a block has its values; afterwards it gives its memory back. Blocks
  /// come in their order.
  ///
  /// @param values  of the whole block, flat.
  /// @throws OutOfMemory  nothing is bound.
  virtual void keep(int block, const Tensor& values) = 0;
  /// All blocks have come, and tensors are about to be bound: the buffers get their source.
  ///
  /// @throws OutOfMemory  nothing is bound.
  virtual void end(const Arena& arena) = 0;
};

}  // namespace tandem::optim
