// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/nn/parameter.hpp"

namespace tandem::nn {

/// Tensors by name, in the order in which a module names them. Finding one by its name takes
/// constant time.
class StateDict {
 public:
  /// Adds the tensor, or replaces the one of that name.
  void set(std::string_view name, const Tensor& tensor);
  /// @throws InvalidArgument  there is none; the text has the name.
  const Tensor& at(std::string_view name) const;
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  /// Takes the tensor away; does nothing where there is none.
  void erase(std::string_view name);

  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }

 private:
  const NamedTensor* find(std::string_view name) const noexcept;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const noexcept {
      return std::hash<std::string_view>{}(name);
    }
  };

  std::vector<NamedTensor> entries_;
  std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>> index_;  // into entries_
};

/// Whether a state dict has to name exactly the module's tensors.
enum class Strict : std::uint8_t { no, yes };

/// Names that load_state_dict with Strict::no passed over.
struct LoadReport {
  std::vector<std::string> missing;     ///< the module has them, the dict does not
  std::vector<std::string> unexpected;  ///< the dict has them, the module does not
};

}  // namespace tandem::nn
