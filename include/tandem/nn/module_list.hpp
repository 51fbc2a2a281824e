// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

/// A list of modules of one type, named "0", "1" and so on. A plain `std::vector` member does the
/// same, but is not a module itself.
///
///     nn::ModuleList<Block> blocks;  // "blocks.0.weight" in the state dict
///     Net() { for (int i = 0; i < 12; ++i) blocks.emplace_back(width); }
///
/// It has no forward; call its modules.
template <std::derived_from<Module> M>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  ModuleList(std::initializer_list<M> modules) : modules_(modules) {}
  explicit ModuleList(std::vector<M> modules) : modules_(std::move(modules)) {}

  void push_back(M module) { modules_.push_back(std::move(module)); }
  template <class... Args>
  M& emplace_back(Args&&... args) {
    return modules_.emplace_back(std::forward<Args>(args)...);
  }

  std::size_t size() const noexcept { return modules_.size(); }
  bool empty() const noexcept { return modules_.empty(); }
  /// @throws std::out_of_range
  M& operator[](std::size_t i) { return modules_.at(i); }
  const M& operator[](std::size_t i) const { return modules_.at(i); }
  auto begin() noexcept { return modules_.begin(); }
  auto end() noexcept { return modules_.end(); }
  auto begin() const noexcept { return modules_.begin(); }
  auto end() const noexcept { return modules_.end(); }

  const char* type_name() const noexcept override { return "ModuleList"; }
  void visit_members(MemberVisitor& visitor) override {
    detail::visit_member(visitor, "", modules_);
  }

 private:
  std::vector<M> modules_;
};

}  // namespace tandem::nn
