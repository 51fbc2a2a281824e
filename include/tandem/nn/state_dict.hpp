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

/// Tensors by name, in the order in which they were added. Lookup by name takes constant time.
class StateDict {
 public:
  /// Adds the tensor, or replaces the tensor of that name.
  void set(std::string_view name, const Tensor& tensor);
  /// @throws InvalidArgument  if there is no such tensor; the message has the name.
  const Tensor& at(std::string_view name) const;
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  /// Removes the tensor, if there is one of that name.
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

/// Whether a state dict must have exactly the names of the module's tensors.
enum class Strict : std::uint8_t { no, yes };

/// The names that load_state_dict skipped with Strict::no.
struct LoadReport {
  std::vector<std::string> missing;     ///< the module has them, the dict does not
  std::vector<std::string> unexpected;  ///< the dict has them, the module does not
};

}  // namespace tandem::nn
