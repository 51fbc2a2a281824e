// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "tandem/nn/module.hpp"

namespace tandem::nn {
namespace detail {

/// Gives every distinct tensor of `module` storage of its own, on `device` or where it is.
void own_tensors(Module& module);
void own_tensors(Module& module, Device device);

}  // namespace detail

/// A copy of `module` on `device` that shares no storage with it; tied tensors stay tied.
///
/// Parameters are leaves with the same requires_grad, without gradients; hooks and mode are copied.
/// @cost one copy and one allocation per distinct tensor.
template <std::derived_from<Module> M>
M replicate(const M& module, Device device) {
  M copy = module;
  detail::own_tensors(copy, device);
  return copy;
}

/// The same with every tensor on the device where it is.
template <std::derived_from<Module> M>
M clone(const M& module) {
  M copy = module;
  detail::own_tensors(copy);
  return copy;
}

}  // namespace tandem::nn
