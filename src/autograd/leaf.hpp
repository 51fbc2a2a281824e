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
/// Whether the leaf has fixed storage on the device, and the next gradient is all that will be in
/// it. A hook would get storage that is written again.
bool takes_whole_gradient(const TensorImpl& leaf, Device device);
/// Adds `gradient` to the leaf's grad, after its hooks and before its accumulate hook.
void accumulate(const std::shared_ptr<TensorImpl>& leaf, Tensor gradient, bool create_graph);

}  // namespace tandem::autograd
