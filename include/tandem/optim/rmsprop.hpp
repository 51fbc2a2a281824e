// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults.
struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;  ///< the share of the old value in the running means
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;  ///< normalise by the gradient's variance, not by the mean of its square
};

/// Divides each element of the gradient by the root of the running mean of its square.
///
/// State: "square_avg"; "momentum_buffer" if momentum is not zero; "grad_avg" if centered.
/// @source Hinton, "Neural networks for machine learning", lecture 6, 2012; Graves,
///         arXiv:1308.0850 (centered).
class RMSprop final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit RMSprop(const ParamList& params, RMSpropOptions options = {});
  /// A group's own options override `options`.
  RMSprop(const std::vector<GroupSpec>& groups, RMSpropOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
};

}  // namespace tandem::optim
