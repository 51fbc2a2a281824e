// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

namespace torch::nn {
class Module;
}

namespace tandem::libtorch {

/// Which modules of PyTorch, with all their parts, are in a wrapper that still lives. PyTorch's
/// modules have no place for such a mark.
///
/// Thread-safe.
class WrappedModules {
 public:
  static WrappedModules& get();

  /// @throws InvalidArgument  the module, or a part of it, is wrapped.
  void check(torch::nn::Module& module);
  void mark(torch::nn::Module& module, const std::shared_ptr<const void>& wrapper);

 private:
  std::mutex mutex_;
  std::unordered_map<const torch::nn::Module*, std::weak_ptr<const void>> wrappers_;
};

}  // namespace tandem::libtorch
