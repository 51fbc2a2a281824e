// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tandem::nn {
class Module;
}

namespace tandem::parallel {

/// Which parts of a module are units: the parameters of a unit are gathered, and given back,
/// together. A unit has the parameters of one module, but for those of units within it. What is in
/// no unit is the last unit.
///
/// Thread-safe, as long as the predicate is.
class UnitPolicy {
 public:
  using Predicate = std::function<bool(const std::string& path, nn::Module& module)>;

  /// The direct parts of the module that have parameters. A part that is all there is is replaced
  /// by its own parts.
  UnitPolicy() = default;
  /// Each module of one of these classes.
  template <class... Modules>
  static UnitPolicy by_type() {
    return where("by_type", [](const std::string&, nn::Module& module) {
      return (... || (dynamic_cast<Modules*>(&module) != nullptr));
    });
  }
  /// Each module of at least that many bytes of parameters which no module within it reaches alone.
  static UnitPolicy by_size(std::size_t nbytes);
  /// Modules by path; an asterisk stands for any characters but a dot: {"blocks.*", "head"}.
  static UnitPolicy names(std::vector<std::string> patterns);
  /// Each module of which `predicate` says so.
  static UnitPolicy where(Predicate predicate) { return where("where", std::move(predicate)); }

  /// The paths of the units' modules, in the order of the tree, without the last unit.
  ///
  /// @throws InvalidArgument  no module, or no part of the module for one of the names, is a unit;
  ///                          the text lists the parts.
  std::vector<std::string> paths(nn::Module& root) const;

 private:
  static UnitPolicy where(std::string name, Predicate predicate);

  std::string name_;
  Predicate predicate_;  // null: the direct parts
  std::vector<std::string> patterns_;
};

/// The unit of a parameter: the index of the innermost path that it is in; `paths.size()` if none.
int unit_of(const std::string& parameter, const std::vector<std::string>& paths);

}  // namespace tandem::parallel
