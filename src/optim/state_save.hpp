// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.hpp"

#include "core/tensor_form.hpp"

namespace tandem::optim::detail {

struct Member;

/// An optimizer's state to be saved: its numbers, and its tensors one at a time. Where ranks have
/// shares, making one and reading each tensor are collective.
///
/// The optimizer must not change meanwhile.
class StateSave {
 public:
  struct Entry {
    std::string key;  ///< "<parameter>.<state>"
    TensorForm form;
    const Member* member = nullptr;
    std::string state;
  };

  explicit StateSave(const Optimizer& optimizer);

  const std::map<std::string, double>& numbers() const noexcept { return numbers_; }
  /// In the order of the parameters.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// A view, or a copy on the parameter's device where several devices share the update.
  Tensor tensor(const Entry& entry) const;
  /// Copies its elements to the host, row-major.
  void read(const Entry& entry, std::span<std::byte> out) const;

 private:
  const StateLayout& layout_;
  std::map<std::string, double> numbers_;
  std::vector<Entry> entries_;
};

}  // namespace tandem::optim::detail
