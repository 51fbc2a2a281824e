// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeinfo>
#include <vector>

#include <torch/optim/optimizer.h>

#include "tandem/optim/optimizer.hpp"

namespace tandem::libtorch {

/// A parameter of the user's optimizer, and its name and tensor in the wrapper.
struct UpdatedParameter {
  at::Tensor own;
  optim::NamedParameter shown;
};

/// One of PyTorch's optimizers as one of tandem's: how its options and its state translate.
class OptimizerRule {
 public:
  virtual ~OptimizerRule() = default;

  /// The rule of a class of torch::optim.
  ///
  /// @throws InvalidArgument  it does not update by elements.
  static const OptimizerRule& of(const std::type_info& type);

  /// Makes tandem's optimizer.
  ///
  /// @throws InvalidArgument  an option is set that tandem's optimizer does not have.
  virtual std::unique_ptr<optim::Optimizer> make(
      const std::vector<optim::GroupSpec>& groups) const = 0;
  /// The options of a group, by tandem's names. @throws InvalidArgument  as make.
  virtual optim::Options options(const torch::optim::OptimizerParamGroup& group) const = 0;
  /// Puts a parameter's state into the form of tandem's, under "<name>.<state>".
  virtual void read(const torch::optim::OptimizerParamState& from,
                    const UpdatedParameter& parameter,
                    optim::OptimizerState& to) const = 0;
  /// The reverse; null if the parameter has made no step.
  virtual std::unique_ptr<torch::optim::OptimizerParamState> write(
      const optim::OptimizerState& from, const UpdatedParameter& parameter) const = 0;
};

}  // namespace tandem::libtorch
