// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/optim/optimizer.hpp"

namespace tandem::optim {

/// PyTorch's names and defaults.
struct AdadeltaOptions {
  double lr = 1;
  double rho = 0.9;  ///< the share of the old value in the running means
  double eps = 1e-6;
  double weight_decay = 0;
};

/// Scales each element of the gradient by the running root mean squares of its steps and gradients.
///
/// State: "square_avg" and "acc_delta", the running means of the squares of the gradient and of the
/// step before it is multiplied by lr.
/// @source Zeiler, "ADADELTA: an adaptive learning rate method", arXiv:1212.5701, 2012.
class Adadelta final : public Optimizer {
 public:
  /// @throws InvalidArgument  if an option is out of range.
  explicit Adadelta(const ParamList& params, AdadeltaOptions options = {});
  /// A group's own options override `options`.
  Adadelta(const std::vector<GroupSpec>& groups, AdadeltaOptions options);

 private:
  void check_options(const ParamGroup& group) const override;
  std::vector<StateSpec> state(const ParamGroup& group) const override;
  void update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) override;
};

}  // namespace tandem::optim
