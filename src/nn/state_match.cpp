// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "nn/state_match.hpp"

#include <string_view>
#include <unordered_map>

#include "tandem/core/check.hpp"

namespace tandem::nn {

StateMatch match(const StateDict& own, const StateDict& state) {
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const NamedTensor& entry : state)
    given.emplace(entry.name, &entry.tensor);
  StateMatch result;
  for (const auto& [name, target] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      result.report.missing.push_back(name);
      continue;
    }
    const Tensor& source = *found->second;
    given.erase(found);
    if (!source.defined()) {
      result.wrong.push_back(name + ": undefined in the dict");
    } else if (source.shape() != target.shape()) {
      result.wrong.push_back(tandem::detail::concat(
          name, ": ", source.shape(), " in the dict, ", target.shape(), " in the module"));
    } else {
      result.copies.emplace_back(target, source);
    }
  }
  for (const NamedTensor& entry : state) {
    if (given.contains(entry.name)) result.report.unexpected.push_back(entry.name);
  }
  return result;
}

}  // namespace tandem::nn
