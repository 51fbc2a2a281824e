// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

namespace tandem::libtorch {

/// What a wrapper needs to know of a module of PyTorch, beside DataParallelOptions.
template <class M>
struct ModuleOptions {
  /// Makes a module with the same parts, as `[] { return std::make_shared<Net>(config); }` does.
  /// Values need not be the same. Null: the module's clone() is called, and if it has none, its
  /// constructor without arguments.
  std::function<std::shared_ptr<M>()> make = nullptr;
};

}  // namespace tandem::libtorch
