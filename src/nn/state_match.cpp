// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "nn/state_match.hpp"

#include <string_view>
#include <unordered_map>

#include "tandem/core/check.hpp"

#include "core/shortened_list.hpp"

namespace tandem::nn {
namespace {

/// "; 2 missing (a, b)"; "" for an empty list.
std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return tandem::detail::concat("; ", names.size(), ' ', what, " (", shortened_list(names), ")");
}

}  // namespace

StateMatch match(const StateDict& own, const std::vector<GivenTensor>& given) {
  std::unordered_map<std::string_view, std::size_t> unused;
  for (std::size_t i = 0; i < given.size(); ++i)
    unused.emplace(given[i].name, i);
  StateMatch result;
  for (const NamedTensor& target : own) {
    const auto found = unused.find(target.name);
    if (found == unused.end()) {
      result.report.missing.push_back(target.name);
      continue;
    }
    const std::size_t index = found->second;
    unused.erase(found);
    const Shape* shape = given[index].shape;
    if (shape == nullptr) {
      result.wrong.push_back(target.name + ": undefined in the dict");
    } else if (*shape != target.tensor.shape()) {
      result.wrong.push_back(tandem::detail::concat(
          target.name, ": ", *shape, " in the dict, ", target.tensor.shape(), " in the module"));
    } else {
      result.copies.emplace_back(target, index);
    }
  }
  for (const GivenTensor& tensor : given) {
    if (unused.contains(tensor.name)) result.report.unexpected.emplace_back(tensor.name);
  }
  return result;
}

void check_match(const char* type_name, const StateMatch& found, Strict strict) {
  const auto& [missing, unexpected] = found.report;
  const bool complete = strict == Strict::no || (missing.empty() && unexpected.empty());
  if (complete && found.wrong.empty()) return;
  const std::vector<std::string> none;
  throw InvalidArgument(
      tandem::detail::concat("load_state_dict: the dict does not fit ",
                             type_name,
                             listed("missing", strict == Strict::yes ? missing : none),
                             listed("unexpected", strict == Strict::yes ? unexpected : none),
                             listed("of the wrong shape", found.wrong),
                             "; nothing has been loaded"));
}

}  // namespace tandem::nn
