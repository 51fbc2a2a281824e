// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "autograd/node.hpp"

namespace tandem::autograd {

/// Brings the parts of the gradient that are on other devices to the leaf.
void complete_gradient(const Meta& meta);
/// The gradient of a leaf after the user's hooks, or unchanged while the hooks are held back.
Tensor hooked(const Meta& meta, Tensor gradient);
/// Adds `gradient` to the leaf's grad, after its hooks and before its accumulate hook.
void accumulate(const std::shared_ptr<TensorImpl>& leaf, Tensor gradient, bool create_graph);

}  // namespace tandem::autograd
