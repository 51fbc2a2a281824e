// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <set>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/optim/optimizer.hpp"

#include "core/shortened_list.hpp"
#include "optim/is_count.hpp"
#include "optim/state_layout.hpp"

namespace tandem::optim {
namespace {

std::string group_prefix(std::size_t g) {
  return "param_groups." + std::to_string(g) + '.';
}

/// Reads a state, and notes all that does not fit.
class Reader {
 public:
  explicit Reader(const OptimizerState& dict) : dict_(dict) {}

  std::vector<ParamGroup> groups(const std::vector<ParamGroup>& present) {
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

  /// 0: the parameter has made no step.
  std::int64_t steps(const detail::Member& m) {
    const double* found = number(m.name + ".step");
    if (found == nullptr) return 0;
    if (!is_count(*found) || *found == 0) {
      problem("'" + m.name + ".step' is " + std::to_string(*found) + ", no count of steps");
      return 0;
    }
    return static_cast<std::int64_t>(*found);
  }

  Tensor tensor(const detail::Member& m, const StateSpec& spec) {
    const std::string key = m.name + '.' + spec.name;
    const auto at = dict_.tensors.find(key);
    if (at == dict_.tensors.end() || !at->second.defined()) {
      problem("has no '" + key + "'");
      return {};
    }
    used_.insert(key);
    const DType dtype = spec.dtype.value_or(m.tensor.dtype());
    if (at->second.shape() != m.tensor.shape() || at->second.dtype() != dtype) {
      problem("'" + key + "' is " + at->second.describe() + ", expected " +
              tandem::detail::concat(dtype, ' ', m.tensor.shape()));
    }
    return at->second;
  }

  /// @throws InvalidArgument  with the first ten problems.
  void finish(const std::string& who) {
    for (const auto& [key, x] : dict_.tensors) {
      if (!used_.contains(key)) problem("'" + key + "' belongs to no parameter of this optimizer");
    }
    for (const auto& [key, x] : dict_.numbers) {
      if (!used_.contains(key)) problem("'" + key + "' is unknown here");
    }
    TANDEM_CHECK(problems_.empty(),
                 who,
                 ": the state is of another optimizer or model:\n  ",
                 shortened_list(problems_, "\n  "));
  }

 private:
  const double* number(const std::string& key) {
    const auto at = dict_.numbers.find(key);
    if (at == dict_.numbers.end()) return nullptr;
    used_.insert(key);
    return &at->second;
  }
  void problem(std::string text) { problems_.push_back(std::move(text)); }

  const OptimizerState& dict_;
  std::set<std::string> used_;
  std::vector<std::string> problems_;
};

}  // namespace

OptimizerState Optimizer::state_dict() const {
  OptimizerState dict;
  const auto specs = this->specs(groups_);
  for (const detail::Member& m : layout_->members()) {
    if (m.steps == 0) continue;
    dict.numbers[m.name + ".step"] = static_cast<double>(m.steps);
    for (const StateSpec& spec : specs[m.group]) {
      Tensor x = layout_->state(m, spec.name);
      if (x.defined()) dict.tensors[m.name + '.' + spec.name] = std::move(x);
    }
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (const auto& [option, value] : groups_[g].options())
      dict.numbers[group_prefix(g) + option] = value;
  }
  return dict;
}

void Optimizer::load_state_dict(const OptimizerState& state) {
  const autograd::NoGrad off;
  layout_->refresh(granularity());
  Reader reader(state);
  std::vector<ParamGroup> groups = reader.groups(groups_);
  for (const ParamGroup& group : groups)
    check_options(group);
  const auto specs = this->specs(groups);

  std::vector<detail::Member>& members = layout_->members();
  std::vector<std::int64_t> steps;
  std::vector<std::vector<Tensor>> sources(members.size());
  std::vector<bool> wanted(layout_->segments().size(), false);
  for (std::size_t i = 0; i < members.size(); ++i) {
    steps.push_back(reader.steps(members[i]));
    if (steps.back() == 0) continue;
    for (const std::size_t segment : members[i].segments)
      wanted[segment] = true;
    for (const StateSpec& spec : specs[members[i].group])
      sources[i].push_back(reader.tensor(members[i], spec));
  }
  reader.finish(name_);
  layout_->allocate(specs, wanted);
  for (std::size_t i = 0; i < members.size(); ++i)
    for (Tensor& source : sources[i])
      source = detail::StateLayout::flat_state(members[i], source);

  // From here on nothing fails.
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::vector<StateSpec>& wants = specs[members[i].group];
    for (std::size_t k = 0; k < wants.size(); ++k) {
      if (steps[i] > 0)
        layout_->set_state(members[i], wants[k].name, sources[i][k]);
      else
        layout_->fill_state(members[i], wants[k]);
    }
    members[i].steps = steps[i];
  }
  groups_ = std::move(groups);
  poisoned_ = false;
}

}  // namespace tandem::optim
