// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// In parameter groups, the options "beta1" and "beta2" stand for `betas`.
struct LAMBOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-6;
  double weight_decay = 0.01;
};

/// Adam for large batches. The step of each parameter tensor has the norm of the tensor times lr.
///
/// Let u be Adam's direction, including weight decay. A parameter p changes by -lr * |p| / |u| * u,
/// or by -lr * u if |p| or |u| is zero. The norm of the gradient is not clipped; use
/// clip_grad_norm_.
///
/// State: "exp_avg" and "exp_avg_sq".
/// @source You et al., "Large batch optimization for deep learning", ICLR 2020, algorithm 2.
class LAMB final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit LAMB(const ParamList& params, LAMBOptions options = {});
  /// A group's own options override `options`.
  LAMB(const std::vector<GroupSpec>& groups, LAMBOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
  Granularity granularity() const override { return Granularity::tensor; }
};

}  // namespace tandem::optim
