// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/state_dict.hpp"

#include <unordered_map>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/nn/module.hpp"

#include "core/shortened_list.hpp"

namespace tandem::nn {
namespace {

/// "2 missing (a, b)"; "" for an empty list.
std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return tandem::detail::concat("; ", names.size(), ' ', what, " (", shortened_list(names), ")");
}

/// What a state dict has for a module, before anything is copied.
struct Match {
  std::vector<std::pair<Tensor, Tensor>> copies;  // target, source
  std::vector<std::string> wrong;
  LoadReport report;
};

Match match(const StateDict& own, const StateDict& state) {
  std::unordered_map<std::string_view, const Tensor*> given;
  for (const NamedTensor& entry : state)
    given.emplace(entry.name, &entry.tensor);
  Match result;
  for (const auto& [name, target] : own) {
    const auto found = given.find(name);
    if (found == given.end()) {
      result.report.missing.push_back(name);
      continue;
    }
    const Tensor& source = *found->second;
    given.erase(found);
    if (!source.defined()) {
      result.wrong.push_back(name + ": undefined");
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

}  // namespace

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
  TANDEM_CHECK(entry != nullptr, "state dict: no tensor is called ", name, " among its ", size());
  return entry->tensor;
}

void StateDict::erase(std::string_view name) {
  const auto at = index_.find(name);
  if (at == index_.end()) return;
  const std::size_t place = at->second;
  index_.erase(at);
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place));
  for (std::size_t i = place; i < entries_.size(); ++i)
    index_.find(entries_[i].name)->second = i;
}

StateDict Module::state_dict() const {
  StateDict state;
  visit_tensors(const_cast<Module&>(*this),  // reads only
                [&state](const std::string& name, Tensor& tensor, TensorKind) {
                  state.set(name, tensor.detach());
                });
  return state;
}

LoadReport Module::load_state_dict(const StateDict& state, Strict strict) {
  Match found = match(state_dict(), state);
  const auto& [missing, unexpected] = found.report;
  const bool complete = strict == Strict::no || (missing.empty() && unexpected.empty());
  if (!complete || !found.wrong.empty()) {
    const std::vector<std::string> none;
    throw InvalidArgument(
        tandem::detail::concat("load_state_dict: the dict does not fit ",
                               type_name(),
                               listed("missing", strict == Strict::yes ? missing : none),
                               listed("unexpected", strict == Strict::yes ? unexpected : none),
                               listed("of the wrong shape", found.wrong),
                               "; nothing has been loaded"));
  }
  const autograd::NoGrad off;
  for (auto& [target, source] : found.copies)
    target.copy_(source);
  return std::move(found.report);
}

}  // namespace tandem::nn
