// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// The replicas that work on parts of one batch, as seen from one of them.
///
/// Ops use it to compute over the whole batch (synchronised batch norm). The comm layer implements
/// it, and a context points to it during a data-parallel call.
class RowGroup {
 public:
  virtual ~RowGroup() = default;
  virtual int size() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  /// The sum of `x` over all replicas, on this replica's device and off the tape.
  ///
  /// Collective: every replica makes these calls in the same order, from its own thread.
  /// @throws CommAborted, Timeout, Desync
  virtual Tensor all_reduce_sum(const Tensor& x) = 0;
  /// After an error, on all replicas: they may meet again. No replica may be in a call, and one
  /// call is enough for all.
  virtual void reset() {}
};

/// The row group of the calling thread's context; null outside a data-parallel call.
const std::shared_ptr<RowGroup>& current_row_group() noexcept;

/// The sum of `x` over the replicas of the context's row group; differentiable. Without a group it
/// is `x` itself.
Tensor sum_over_replicas(const Tensor& x);

}  // namespace tandem
