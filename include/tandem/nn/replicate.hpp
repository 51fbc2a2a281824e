// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>

#include "tandem/nn/module.hpp"

namespace tandem::nn {
namespace detail {

/// Gives every distinct tensor of `module` storage of its own, on `device` or where it is.
void own_tensors(Module& module);
void own_tensors(Module& module, Device device);

/// What a wrapper of a module does to its parts, each by itself.
class Wrapping {
 public:
  /// The module is in a wrapper that lives, or a replica of one.
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
