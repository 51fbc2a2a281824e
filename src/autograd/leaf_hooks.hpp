// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/autograd/autograd.hpp"

namespace tandem::autograd {

// Note [Hooks of leaves]: a hook of the user's (register_hook, set_accumulate_hook) sees a leaf's
// whole gradient, once in a backward. Where parts of it come from several replicas, whoever runs
// them holds the hooks back, and runs them on the sum.

/// Called after each part of a leaf's gradient that is accumulated on its device; of a wrapper's.
void set_part_hook(const Tensor& leaf, AccumulateHook hook);

/// The user has set hooks.
bool has_hooks(const Tensor& leaf) noexcept;
/// Whether the user's hooks run as gradients are accumulated, or wait for run_hooks.
enum class Hooks : std::uint8_t { run, wait };
void hold_hooks(const Tensor& leaf, Hooks hooks) noexcept;
/// Runs the user's hooks on the gradient that lies with the leaf, which is defined.
void run_hooks(const Tensor& leaf);

}  // namespace tandem::autograd
