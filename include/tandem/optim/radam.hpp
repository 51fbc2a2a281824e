// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults. In parameter groups, the options "beta1" and "beta2" stand for
/// `betas`.
struct RAdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  bool decoupled_weight_decay = false;  ///< as AdamW: not added to the gradient
};

/// Adam that corrects the variance of its step, which is large after few steps: the first steps
/// follow the running mean of the gradient alone.
///
/// State: "exp_avg" and "exp_avg_sq" as Adam.
/// @source Liu et al., "On the variance of the adaptive learning rate and beyond", ICLR 2020.
class RAdam final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit RAdam(const ParamList& params, RAdamOptions options = {});
  /// A group's own options override `options`.
  RAdam(const std::vector<GroupSpec>& groups, RAdamOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
};

}  // namespace tandem::optim
