// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// A replica computes with other values than device 0, or a process with others than process 0
/// (Checks::drift_every).
class ReplicaDrift : public Error {
 public:
  ReplicaDrift(const std::string& tensor, Device owner, Device device, std::int64_t step);
  /// @param what     a tensor, or "the seed"; both are those of the same device.
  /// @param process  the first that differs from process 0.
  ReplicaDrift(const std::string& what, int process, Device device, std::int64_t step);

  /// The first tensor that differs, by its name in the state dict; between processes, also what
  /// random numbers depend on: "the seed of random numbers".
  const std::string& tensor() const noexcept { return tensor_; }
  Device device() const noexcept { return device_; }
  /// The step of the wrapper, counted from 1.
  std::int64_t step() const noexcept { return step_; }

 private:
  std::string tensor_;
  Device device_;
  std::int64_t step_;
};

}  // namespace tandem::parallel
