// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tandem/optim/optimizer.hpp"

#include "core/tensor_form.hpp"
#include "optim/state_layout.hpp"

namespace tandem::optim {

/// "param_groups.0.", before the names of a group's options.
std::string group_prefix(std::size_t group);

/// Reads an optimizer's state, and notes all that does not fit.
class StateReader {
 public:
  using Numbers = std::map<std::string, double>;
  using Forms = std::map<std::string, TensorForm>;
  StateReader(const Numbers& numbers, const Forms& tensors)
      : given_numbers_(numbers), given_tensors_(tensors) {}

  /// The groups with the options of the state.
  std::vector<ParamGroup> groups(const std::vector<ParamGroup>& present);
  /// 0: the parameter has made no step.
  std::int64_t steps(const detail::Member& m);
  /// In the order of `specs`.
  std::vector<double> numbers(const detail::Member& m, const std::vector<NumberSpec>& specs);
  /// The name that the state has for a tensor.
  std::string tensor(const detail::Member& m, const StateSpec& spec);
  /// @throws InvalidArgument  with the first ten problems.
  void finish(const std::string& who);

 private:
  const double* number(const std::string& key);
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  const Numbers& given_numbers_;
  const Forms& given_tensors_;
  std::set<std::string> used_;
  std::vector<std::string> problems_;
};

}  // namespace tandem::optim
