// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults. In parameter groups, the options "beta1" and "beta2" stand for
/// `betas`. AdamW has another default of weight_decay; see AdamWOptions.
struct AdamOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
};
struct AdamWOptions {
  double lr = 1e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 1e-2;
};

/// Adam, with weight decay added to the gradient.
///
/// State: "exp_avg" and "exp_avg_sq", the running means of the gradient and of its square.
/// @source Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
class Adam : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit Adam(const ParamList& params, AdamOptions options = {});
  /// A group's own options override `options`.
  Adam(const std::vector<GroupSpec>& groups, AdamOptions options);

 protected:
  Adam(const char* name, const std::vector<GroupSpec>& groups, const Options& options);

 private:
  void check_options(const ParamGroup& group) const final;
  std::vector<StateSpec> state(const ParamGroup& group) const final;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) final;
  /// How weight decay is applied.
  struct Decay {
    double l2;      ///< this times the parameter is added to the gradient
    double factor;  ///< the parameter is multiplied by this
  };
  virtual Decay decay(const ParamGroup& group) const;
  friend class AdamW;
};

/// Adam with decoupled weight decay: each step multiplies the parameter by 1 - lr * weight_decay.
///
/// @source Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019.
class AdamW final : public Adam {
 public:
  explicit AdamW(const ParamList& params, AdamWOptions options = {});
  AdamW(const std::vector<GroupSpec>& groups, AdamWOptions options);

 private:
  Decay decay(const ParamGroup& group) const override;
};

}  // namespace tandem::optim
