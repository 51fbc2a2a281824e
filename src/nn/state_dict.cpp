// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/state_dict.hpp"

#include "tandem/core/check.hpp"

namespace tandem::nn {

const NamedTensor* StateDict::find(std::string_view name) const noexcept {
  const auto at = index_.find(name);
  return at == index_.end() ? nullptr : &entries_[at->second];
}

void StateDict::set(std::string_view name, const Tensor& tensor) {
  if (const auto at = index_.find(name); at != index_.end()) {
    entries_[at->second].tensor = tensor;
    return;
  }
  entries_.push_back({std::string(name), tensor});
  index_.emplace(name, entries_.size() - 1);
}

const Tensor& StateDict::at(std::string_view name) const {
  const NamedTensor* entry = find(name);
  TANDEM_CHECK(entry != nullptr, "state dict: none of the ", size(), " tensors is called ", name);
  return entry->tensor;
}

void StateDict::erase(std::string_view name) {
  const auto at = index_.find(name);
  if (at == index_.end()) return;
  const std::size_t position = at->second;
  index_.erase(at);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(position));
  for (std::size_t i = position; i < entries_.size(); ++i)
    index_.find(entries_[i].name)->second = i;
}

}  // namespace tandem::nn
