// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/param_group.hpp"

#include "optim/option_names.hpp"

namespace tandem::optim {

ParamList::ParamList(const std::vector<Tensor>& params) {
  for (const Tensor& x : params)
    params_.push_back({"", x});  // the optimizer counts them
}

double ParamGroup::get(std::string_view option) const {
  check_option("parameter group", options_, option);
  return options_.at(std::string(option));
}

void ParamGroup::set(std::string_view option, double value) {
  check_option("parameter group", options_, option);
  options_[std::string(option)] = value;
}

}  // namespace tandem::optim
