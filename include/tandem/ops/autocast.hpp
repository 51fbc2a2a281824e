// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/core/dtype.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem {

/// Mixed precision, like torch.autocast. While an Autocast object lives, the ops of this thread,
/// and of the replicas that this thread calls, choose their types by what they need:
/// - Products (matmul, linear, convolutions, attention) cast f32 operands to `dtype`, sum in f32
///   and return `dtype`.
/// - Ops that need range or add many terms (softmax, losses, norms, sums, exponentials, powers)
///   widen bf16 and f16 operands to f32 and return f32. docs/types.md lists them.
/// - All other ops compute in the type of their operands, joined by PyTorch's promotion lattice.
///
/// f64 is left alone. Parameters stay f32 and get f32 gradients, because a cast is an op like any
/// other. With f16, scale the loss (optim::GradScaler); otherwise small gradients vanish.
///
///     const Autocast mixed(DType::bf16);
///     const Tensor y = model(x);
class Autocast {
 public:
  /// @param dtype  bf16, f16, or f32, which turns mixed precision off in this scope.
  /// @throws InvalidArgument  if `dtype` is any other type.
  explicit Autocast(DType dtype);

 private:
  ContextScope scope_;
};

}  // namespace tandem
