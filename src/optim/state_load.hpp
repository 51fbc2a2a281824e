// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tandem/optim/optimizer.hpp"

#include "core/tensor_form.hpp"

namespace tandem::optim::detail {

/// A saved state on its way into an optimizer, one tensor at a time.
///
/// The optimizer must not be used meanwhile.
class StateLoad {
 public:
  struct Entry {
    std::string key;  ///< in the saved state
    std::size_t member = 0;
    std::string state;
  };

  /// Compares the state with the optimizer, and allocates what it needs.
  ///
  /// @throws InvalidArgument, OutOfMemory  nothing has changed.
  StateLoad(Optimizer& optimizer,
            const std::map<std::string, double>& numbers,
            const std::map<std::string, TensorForm>& tensors);

  /// In the order of the parameters.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// `value` of a state as `set` takes it.
  Tensor flat(const Entry& entry, const Tensor& value) const;
  /// Takes the state: `put` has to set each entry. An optimizer whose `put` throws refuses to go on
  /// until another state is loaded.
  void run(const std::function<void(const Entry&)>& put);
  void set(const Entry& entry, const Tensor& flat);
  /// @param bytes  row-major.
  void set(const Entry& entry, std::span<const std::byte> bytes);

 private:
  Optimizer& optimizer_;
  std::vector<ParamGroup> groups_;
  std::vector<std::vector<StateSpec>> specs_;
  std::vector<std::int64_t> steps_;           // by member
  std::vector<std::vector<double>> numbers_;  // by member
  std::vector<Entry> entries_;
};

}  // namespace tandem::optim::detail
