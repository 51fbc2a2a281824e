// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults.
struct AdagradOptions {
  double lr = 1e-2;
  double lr_decay = 0;
  double weight_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};

/// Divides each element of the gradient by the root of the sum of its squares so far.
///
/// State: "sum".
/// @source Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 12, 2011.
class Adagrad final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit Adagrad(const ParamList& params, AdagradOptions options = {});
  /// A group's own options override `options`.
  Adagrad(const std::vector<GroupSpec>& groups, AdagradOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
};

}  // namespace tandem::optim
