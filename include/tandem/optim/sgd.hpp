// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults.
struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// Stochastic gradient descent, with optional momentum.
///
/// State: "momentum_buffer" if momentum is not zero.
/// @source https://pytorch.org/docs/stable/generated/torch.optim.SGD.html
class SGD final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range, or nesterov is set without momentum or
  ///                          with dampening.
  explicit SGD(const ParamList& params, SGDOptions options = {});
  /// A group's own options override `options`.
  SGD(const std::vector<GroupSpec>& groups, SGDOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
};

}  // namespace tandem::optim
