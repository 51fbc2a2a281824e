// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem::bench {

/// What a device can do at most, measured now: a large product, and an addition of tensors that no
/// cache holds.
struct Roofs {
  double flops = 0;      ///< per second, of a product in the step's type
  double bandwidth = 0;  ///< bytes per second

  /// On `threads` threads, of a host device.
  /// @param dtype  in which the step multiplies; the product's operands have it from the beginning
  static Roofs of(Device device, int threads, DType dtype);
  /// The least time of work of these sizes, in seconds.
  double least(double work_flops, double work_nbytes) const;
};

/// What an op costs in a step.
struct OpCost {
  std::string name;
  double calls, ms;
  double share;             ///< of the time of all ops
  double flops, bandwidth;  ///< per second
  double of_roof;           ///< share of the roofs that it reaches
};

/// As a table, to stderr.
void print(const std::vector<OpCost>& costs, const Roofs& roofs);

/// Time, arithmetic and bytes of the work of all devices, by name. Of a GPU's work it is the time
/// on its streams.
class Profile : public Observer {
 public:
  void on_work_begin(const Work& work, const Stream& stream) noexcept override;
  void on_work_end(const Work& work, const Stream& stream) noexcept override;
  /// What was seen, of a number of steps: per step, the longest first.
  std::vector<OpCost> take(std::int64_t steps, const Roofs& roofs);

 private:
  struct Row {
    double seconds = 0, flops = 0, nbytes = 0;
    std::int64_t calls = 0;
  };

  profile::StepRecorder recorder_;
  std::mutex mutex_;  // guards rows_
  std::map<std::string, Row> rows_;
};

}  // namespace tandem::bench
