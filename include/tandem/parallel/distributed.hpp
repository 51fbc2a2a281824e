// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tandem/parallel/detail/outputs.hpp"
#include "tandem/parallel/replica_error.hpp"

namespace tandem::parallel {

/// Outputs of a call that stay on the devices that made them: `auto y = dp.distributed(x)`.
///
/// The parts are on the caller's tape. Whatever is computed from them on their devices and later
/// gathered or reduced goes back through the replicas in one backward().
template <TensorNest T>
class Distributed {
 public:
  struct Part {
    Replica replica;  ///< its device and rows
    T value;
  };

  Distributed(std::vector<Part> parts, Device device, GatherOptions options)
      : parts_(std::move(parts)), device_(device), options_(std::move(options)) {
    options_.rows.clear();
    for (const Part& part : parts_)
      options_.rows.push_back(part.replica.rows.size());
  }

  /// The parts of the devices that have rows, in the order of the devices.
  const std::vector<Part>& parts() const noexcept { return parts_; }
  std::int64_t rows() const noexcept {
    return parts_.back().replica.rows.end - parts_.front().replica.rows.begin;
  }
  /// Applies `f(value)` to each part on its device: `logits.map(softmax)`.
  template <class F>
  auto map(F&& f) const {
    using Result = std::decay_t<std::invoke_result_t<F&, const T&>>;
    std::vector<typename Distributed<Result>::Part> changed;
    for (const Part& part : parts_)
      changed.push_back({part.replica, f(part.value)});
    return Distributed<Result>(std::move(changed), device_, options_);
  }
  /// What dp(...) would have returned.
  /// @param device  none: the wrapper's output device.
  T gather(std::optional<Device> device = std::nullopt) const {
    return detail::gather_parts<T>(values(), device.value_or(device_), options_, std::nullopt);
  }
  /// Combines the parts, which are tensors of the same shape, element by element.
  /// @throws InvalidArgument  the shapes differ.
  T reduce(Combine how, std::optional<Device> device = std::nullopt) const {
    return detail::gather_parts<T>(values(), device.value_or(device_), options_, how);
  }

 private:
  std::vector<T> values() const {
    std::vector<T> all;
    for (const Part& part : parts_)
      all.push_back(part.value);
    return all;
  }

  std::vector<Part> parts_;
  Device device_;
  GatherOptions options_;
};

}  // namespace tandem::parallel
