// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults. In parameter groups, the options "beta1" and "beta2" stand for
/// `betas`.
struct NAdamOptions {
  double lr = 2e-3;
  std::array<double, 2> betas{0.9, 0.999};
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;         ///< how soon the momentum grows from beta1 / 2 to beta1
  bool decoupled_weight_decay = false;  ///< as AdamW: not added to the gradient
  DType product_dtype = DType::f32;     ///< of mu_product, which PyTorch keeps in its default dtype
};

/// Adam with Nesterov's momentum, which grows with the steps.
///
/// State: "exp_avg" and "exp_avg_sq" as Adam, and the number "mu_product": the product of the
/// momenta of all steps.
/// @source Dozat, "Incorporating Nesterov momentum into Adam", ICLR workshop, 2016.
class NAdam final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit NAdam(const ParamList& params, NAdamOptions options = {});
  /// A group's own options override `options`.
  NAdam(const std::vector<GroupSpec>& groups, NAdamOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  std::vector<NumberSpec> numbers() const override;
  std::vector<double> next_numbers(const std::vector<double>& before,
                                   const ParamGroup& group,
                                   std::int64_t t) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;

  DType product_dtype_;
};

}  // namespace tandem::optim
