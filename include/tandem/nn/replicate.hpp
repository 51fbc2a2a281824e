// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>

#include "tandem/nn/module.hpp"

namespace tandem::nn {
namespace detail {

/// Gives every distinct tensor of `module` its own storage, on `device` or on its present device.
void own_tensors(Module& module);
void own_tensors(Module& module, Device device);

/// What a wrapper does to a single module; the modules below it are not affected.
class Wrapping {
 public:
  /// Whether the module, or the module it is a replica of, is in a wrapper that still lives.
  static bool is_wrapped(const Module& module) noexcept { return !module.mark_.wrapper.expired(); }
  static void mark(Module& module, const std::shared_ptr<const void>& wrapper) noexcept {
    module.mark_.wrapper = wrapper;
  }
  /// Gives a replica the mode and the hooks of its original.
  static void follow(Module& replica, const Module& original);
};

}  // namespace detail

/// A copy of `module` on `device` that shares no storage with it; tied tensors stay tied.
///
/// Parameters are leaves with the same requires_grad and without gradients. Hooks and mode are
/// copied.
/// @cost  One copy and one allocation for each distinct tensor.
template <std::derived_from<Module> M>
M replicate(const M& module, Device device) {
  M copy = module;
  detail::own_tensors(copy, device);
  return copy;
}

/// Like replicate, but every tensor stays on its device.
template <std::derived_from<Module> M>
M clone(const M& module) {
  M copy = module;
  detail::own_tensors(copy);
  return copy;
}

}  // namespace tandem::nn
