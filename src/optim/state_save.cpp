// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_save.hpp"

#include "tandem/core/check.hpp"

#include "optim/state_bytes.hpp"
#include "optim/state_layout.hpp"
#include "optim/state_reader.hpp"

namespace tandem::optim::detail {

StateSave::StateSave(const Optimizer& optimizer) : layout_(*optimizer.layout_) {
  optimizer.layout_->learn_steps();
  const auto specs = optimizer.specs(optimizer.groups_);
  const std::vector<NumberSpec> numbers = optimizer.numbers();
  for (const Member& m : layout_.members()) {
    if (m.steps == 0) continue;
    numbers_[m.name + ".step"] = static_cast<double>(m.steps);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers_[m.name + '.' + numbers[i].name] = m.numbers[i];
    for (const StateSpec& spec : specs[m.group]) {
      DType dtype = spec.dtype.value_or(StateLayout::updated_dtype(m));
      if (!m.runs.empty()) {  // else other ranks have all of it
        const StateTensor* found = layout_.runs()[m.runs.front()].find(spec.name);
        if (found == nullptr) continue;
        dtype = found->flat.dtype();
      }
      entries_.push_back({m.name + '.' + spec.name, {dtype, m.at.shape, {}}, &m, spec.name});
    }
  }
  for (std::size_t g = 0; g < optimizer.groups_.size(); ++g) {
    for (const auto& [option, value] : optimizer.groups_[g].options())
      numbers_[group_prefix(g) + option] = value;
  }
}

Tensor StateSave::tensor(const Entry& entry) const {
  return layout_.state(*entry.member, entry.state);
}

void StateSave::read(const Entry& entry, std::span<std::byte> out) const {
  read_state(layout_, *entry.member, entry.state, out);
}

}  // namespace tandem::optim::detail
