// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/context.hpp"

#include "autograd/node.hpp"

namespace tandem::autograd {

/// The forward's context as backward runs in it.
///
/// @param captures  gradients of some tensors are returned and not accumulated.
std::shared_ptr<const Context> backward_context(const Context& forward,
                                                const Context& caller,
                                                const BackwardOptions& options,
                                                bool captures,
                                                std::shared_ptr<const UnwantedInputs> unwanted,
                                                std::shared_ptr<const GradientPlaces> places);
/// The caller's context as gradients of leaves are added up in it.
std::shared_ptr<const Context> leaf_context();

}  // namespace tandem::autograd
