// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libtorch/modules/torch_source.hpp"

namespace tandem::libtorch {

/// The hooks on gradients that a program has given PyTorch for the parameters of a module
/// (register_hook). In a step they are hooks of tandem's parameters, which a wrapper runs on the
/// sum over the replicas before the vote.
class FollowedHooks {
 public:
  FollowedHooks() = default;
  /// @param source  of the first device; its arena has been laid out.
  explicit FollowedHooks(const TorchSource& source);

  /// To be called at the beginning of each step.
  /// @throws InvalidArgument  a parameter has a hook that runs after accumulation.
  void follow();

 private:
  struct Entry {
    std::string name;
    Tensor shown;
    at::Tensor own;
    std::optional<int> id = std::nullopt;  // of the hook of `shown`
  };
  std::vector<Entry> entries_;
};

}  // namespace tandem::libtorch
