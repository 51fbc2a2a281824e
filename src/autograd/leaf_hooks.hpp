// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/autograd/autograd.hpp"

namespace tandem::autograd {

// A user's hook (register_hook, set_accumulate_hook) sees a leaf's whole gradient, once per
// backward. If parts of the gradient come from several replicas, the code that runs the replicas
// holds the hooks back, and runs them on the sum.

/// Sets a wrapper's hook, called after each part of a leaf's gradient is accumulated on its device.
void set_part_hook(const Tensor& leaf, AccumulateHook hook);

/// Whether the user has set hooks.
bool has_hooks(const Tensor& leaf) noexcept;
/// Whether the user's hooks run as gradients are accumulated, or wait for these two.
enum class Hooks : std::uint8_t { run, wait };
void hold_hooks(const Tensor& leaf, Hooks hooks) noexcept;
/// Runs the user's gradient hooks on the gradient stored with the leaf, which must be defined.
void run_gradient_hooks(const Tensor& leaf);
/// Runs the user's accumulate hook, if there is one.
void run_accumulate_hook(const Tensor& leaf);

}  // namespace tandem::autograd
