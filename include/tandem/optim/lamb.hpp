// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// In groups "betas" are "beta1" and "beta2".
struct LAMBOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0.01;
};

/// Adam for large batches: the step of each parameter tensor is as long as the tensor, times lr.
///
/// With Adam's direction u, weight decay included, a parameter moves by -lr |p| / |u| u; by -lr u
/// where |p| or |u| is zero. The norm of the gradient is not clipped: see clip_grad_norm_.
///
/// State: "exp_avg" and "exp_avg_sq".
/// @source You et al., "Large batch optimization for deep learning", ICLR 2020, algorithm 2
class LAMB final : public Optimizer {
 public:
  /// @throws InvalidArgument  an option out of range.
  explicit LAMB(const ParamList& params, LAMBOptions options = {});
  /// Options of a group stand above `options`.
  LAMB(const std::vector<GroupSpec>& groups, LAMBOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
  Granularity granularity() const override { return Granularity::tensor; }
};

}  // namespace tandem::optim
