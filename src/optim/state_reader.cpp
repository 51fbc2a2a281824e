// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_reader.hpp"

#include "tandem/core/check.hpp"

#include "core/shortened_list.hpp"
#include "optim/is_count.hpp"
#include "optim/state_layout.hpp"

namespace tandem::optim {

std::string group_prefix(std::size_t group) {
  return "param_groups." + std::to_string(group) + '.';
}

std::vector<ParamGroup> StateReader::groups(const std::vector<ParamGroup>& present) {
  std::vector<ParamGroup> groups = present;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const auto& [option, value] : present[g].options()) {
      if (const double* found = number(group_prefix(g) + option))
        groups[g].set(option, *found);
      else
        problem("has no '" + group_prefix(g) + option + "'");
    }
  }
  return groups;
}

std::int64_t StateReader::steps(const detail::Member& m) {
  const double* found = number(m.name + ".step");
  if (found == nullptr) return 0;
  if (!is_count(*found) || *found == 0) {
    problem("'" + m.name + ".step' is " + std::to_string(*found) +
            ", which is not a count of steps");
    return 0;
  }
  return static_cast<std::int64_t>(*found);
}

std::vector<double> StateReader::numbers(const detail::Member& m,
                                         const std::vector<NumberSpec>& specs) {
  std::vector<double> numbers;
  for (const NumberSpec& spec : specs) {
    const std::string key = m.name + '.' + spec.name;
    const double* found = number(key);
    numbers.push_back(found == nullptr ? spec.start : *found);
    if (found == nullptr) {
      problem("has no '" + key + "'");
    } else if (!(*found >= spec.least && *found <= spec.most)) {
      problem(tandem::detail::concat(
          '\'', key, "' is ", *found, "; it must be in [", spec.least, ", ", spec.most, ']'));
    }
  }
  return numbers;
}

std::string StateReader::tensor(const detail::Member& m, const StateSpec& spec) {
  std::string key = m.name + '.' + spec.name;
  const auto at = given_tensors_.find(key);
  if (at == given_tensors_.end()) {
    problem("has no '" + key + "'");
    return key;
  }
  used_.insert(key);
  const TensorForm& form = at->second;
  const DType dtype = spec.dtype.value_or(detail::StateLayout::updated_dtype(m));
  if (form.shape != m.tensor.shape() || form.dtype != dtype) {
    problem("'" + key + "' is " + form.text + ", expected " +
            tandem::detail::concat(dtype, ' ', m.tensor.shape()));
  }
  return key;
}

void StateReader::finish(const std::string& who) {
  for (const auto& [key, form] : given_tensors_) {
    if (!used_.contains(key)) problem("'" + key + "' belongs to no parameter of this optimizer");
  }
  for (const auto& [key, value] : given_numbers_) {
    if (!used_.contains(key)) problem("'" + key + "' is not an option of this optimizer");
  }
  TANDEM_CHECK(problems_.empty(),
               who,
               ": the state belongs to another optimizer or model:\n  ",
               shortened_list(problems_, "\n  "));
}

const double* StateReader::number(const std::string& key) {
  const auto at = given_numbers_.find(key);
  if (at == given_numbers_.end()) return nullptr;
  used_.insert(key);
  return &at->second;
}

}  // namespace tandem::optim
