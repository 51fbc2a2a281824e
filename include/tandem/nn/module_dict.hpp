// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/core/check.hpp"
#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// Modules of one type by name, in the order of insertion.
///
///     nn::ModuleDict<nn::Linear> heads;  // "heads.age.weight" in the state dict
///     Net() { heads.insert("age", nn::Linear(64, 1)); }
///
/// It has no forward; call its modules.
template <std::derived_from<Module> M>
class ModuleDict : public Module {
 public:
  ModuleDict() = default;

  /// @throws InvalidArgument  if `name` is empty, contains a dot, or is already in use.
  M& insert(std::string name, M module) {
    TANDEM_CHECK(!name.empty() && name.find('.') == std::string::npos,
                 "ModuleDict: '",
                 name,
                 "' is not a module name; give a name without dots");
    TANDEM_CHECK(!contains(name), "ModuleDict: there is already a module '", name, "'");
    return modules_.emplace_back(std::move(name), std::move(module)).second;
  }

  bool contains(std::string_view name) const noexcept { return find(name) != modules_.end(); }
  /// @throws InvalidArgument  if there is no such module; the message lists the names there are.
  M& operator[](std::string_view name) { return const_cast<M&>(std::as_const(*this)[name]); }
  const M& operator[](std::string_view name) const {
    const auto found = find(name);
    if (found == modules_.end()) {
      std::string names;
      for (const auto& [known, module] : modules_)
        names += (names.empty() ? "" : ", ") + known;
      throw InvalidArgument(tandem::detail::concat(
          "ModuleDict: there is no module '", name, "'; the modules are ", names));
    }
    return found->second;
  }

  std::size_t size() const noexcept { return modules_.size(); }
  bool empty() const noexcept { return modules_.empty(); }
  /// Iterates over pairs of name and module.
  auto begin() noexcept { return modules_.begin(); }
  auto end() noexcept { return modules_.end(); }
  auto begin() const noexcept { return modules_.begin(); }
  auto end() const noexcept { return modules_.end(); }

  const char* type_name() const noexcept override { return "ModuleDict"; }
  void visit_members(MemberVisitor& visitor) override {
    for (auto& [name, module] : modules_)
      visitor.visit_module(name, module);
  }

 private:
  auto find(std::string_view name) const noexcept {
    return std::find_if(
        modules_.begin(), modules_.end(), [&](const auto& entry) { return entry.first == name; });
  }

  std::vector<std::pair<std::string, M>> modules_;
};

}  // namespace tandem::nn
