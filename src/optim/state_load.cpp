// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_load.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"

#include "optim/state_bytes.hpp"
#include "optim/state_layout.hpp"
#include "optim/state_reader.hpp"

namespace tandem::optim::detail {

StateLoad::StateLoad(Optimizer& optimizer,
                     const std::map<std::string, double>& numbers,
                     const std::map<std::string, TensorForm>& tensors)
    : optimizer_(optimizer) {
  StateLayout& layout = *optimizer.layout_;
  layout.refresh(optimizer.granularity());
  StateReader reader(numbers, tensors);
  groups_ = reader.groups(optimizer.groups_);
  for (const ParamGroup& group : groups_)
    optimizer.check_options(group);
  specs_ = optimizer.specs(groups_);
  const std::vector<NumberSpec> number_specs = optimizer.numbers();
  std::vector<double> starts;
  for (const NumberSpec& spec : number_specs)
    starts.push_back(spec.start);
  const std::vector<Member>& members = layout.members();
  std::vector<bool> wanted(layout.runs().size(), false);
  for (std::size_t m = 0; m < members.size(); ++m) {
    steps_.push_back(reader.steps(members[m]));
    numbers_.push_back(steps_.back() == 0 ? starts : reader.numbers(members[m], number_specs));
    if (steps_.back() == 0) continue;
    for (const std::size_t run : members[m].runs)
      wanted[run] = true;
    for (const StateSpec& spec : specs_[members[m].group])
      entries_.push_back({reader.tensor(members[m], spec), m, spec.name});
  }
  reader.finish(optimizer.name_);
  layout.allocate(specs_, wanted);
}

Tensor StateLoad::flat(const Entry& entry, const Tensor& value) const {
  return StateLayout::flat_state(optimizer_.layout_->members()[entry.member], value);
}

void StateLoad::run(const std::function<void(const Entry&)>& put) {
  const autograd::NoGrad off;
  StateLayout& layout = *optimizer_.layout_;
  std::vector<Member>& members = layout.members();
  optimizer_.poisoned_ = true;
  for (const Entry& entry : entries_)
    put(entry);
  for (std::size_t m = 0; m < members.size(); ++m) {
    if (steps_[m] == 0) {
      for (const StateSpec& spec : specs_[members[m].group])
        layout.fill_state(members[m], spec);
    }
    members[m].steps = steps_[m];
    members[m].numbers = std::move(numbers_[m]);
  }
  optimizer_.groups_ = std::move(groups_);
  optimizer_.poisoned_ = false;
}

void StateLoad::set(const Entry& entry, const Tensor& flat) {
  StateLayout& layout = *optimizer_.layout_;
  layout.set_state(layout.members()[entry.member], entry.state, flat);
}

void StateLoad::set(const Entry& entry, std::span<const std::byte> bytes) {
  StateLayout& layout = *optimizer_.layout_;
  write_state(layout, layout.members()[entry.member], entry.state, bytes);
}

}  // namespace tandem::optim::detail
