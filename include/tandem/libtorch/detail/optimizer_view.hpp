// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeinfo>
#include <vector>

#include "tandem/optim/optimizer.hpp"
#include "tandem/optim/param_group.hpp"

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace tandem::libtorch::detail {

/// A parameter of the user's optimizer, and its name and tensor in the wrapper.
struct UpdatedParameter;

/// A user's optimizer of PyTorch: how it is one of tandem's, and how its options and its state
/// translate. Used by one thread at a time.
class OptimizerView {
 public:
  /// Parameters with the same options, by tandem's names.
  struct Group {
    std::vector<at::Tensor> parameters;
    optim::Options options;
  };

  virtual ~OptimizerView();

  /// @throws InvalidArgument  an option is set that tandem's optimizer does not have.
  virtual std::vector<Group> groups() const = 0;
  /// Makes tandem's optimizer for the same rule.
  virtual std::unique_ptr<optim::Optimizer> make(
      const std::vector<optim::GroupSpec>& groups) const = 0;
  /// Puts a parameter's state into the form of tandem's, under "<name>.<state>".
  virtual void read(const UpdatedParameter& parameter, optim::OptimizerState& to) const = 0;
  /// The reverse. A parameter that has made no step has no state afterwards.
  virtual void write(const optim::OptimizerState& from, const UpdatedParameter& parameter) = 0;
};

/// The view of an optimizer of C++.
///
/// @param type  its class in torch::optim.
/// @throws InvalidArgument  the class does not treat each element alike.
std::unique_ptr<OptimizerView> view_of(torch::optim::Optimizer& optimizer,
                                       const std::type_info& type);

}  // namespace tandem::libtorch::detail
