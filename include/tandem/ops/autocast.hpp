// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem {

/// Mixed precision, as torch.autocast: while it lives, ops of this thread, and of the replicas that
/// it calls, choose their types by what they need:
/// - products (matmul, linear, convolutions, attention) cast f32 operands to `dtype`, sum in f32
///   and give `dtype`;
/// - what needs range or many terms (softmax, losses, norms, sums, exponentials, powers) takes bf16
///   and f16 as f32, gives f32 (docs/types.md has the list);
/// - the rest computes in the type of its operands, which PyTorch's lattice joins.
///
/// f64 stays as it is. Parameters stay f32 and get f32 gradients: a cast is an op like others. With
/// f16, scale the loss (optim::GradScaler), or small gradients vanish.
///
///     const Autocast mixed(DType::bf16);
///     const Tensor y = model(x);
class Autocast {
 public:
  /// @throws InvalidArgument  `dtype` is neither bf16, f16, nor f32 (which turns it off within).
  explicit Autocast(DType dtype);

 private:
  ContextScope scope_;
};

}  // namespace tandem
