// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What one device needs in a step. Of memory, in bytes: fixed + per_row * its rows + per_batch_row
/// * rows of the whole batch. Of time: a line in its rows.
struct DeviceNeed {
  Device device;
  double fixed = 0;          ///< parameters, gradients, the optimizer's state, ...
  double per_row = 0;        ///< activations, ...
  double per_batch_row = 0;  ///< the batch itself and gathered outputs, where they are
  std::size_t limit = SIZE_MAX;
  double fixed_ms = 0;  ///< of its forward and backward, where it has rows
  double ms_per_row = 0;

  double peak(std::int64_t rows, std::int64_t batch_rows) const noexcept {
    return fixed + per_row * static_cast<double>(rows) +
           per_batch_row * static_cast<double>(batch_rows);
  }
  double ms(std::int64_t rows) const noexcept {
    return rows == 0 ? 0 : fixed_ms + ms_per_row * static_cast<double>(rows);
  }
};

/// What a plan makes as small as it gets.
enum class PlanGoal : std::uint8_t {
  least_peak,  ///< the largest peak of a device
  least_time,  ///< the longest time of a device's forward and backward
};

/// Rows for each device, and what they come to.
struct StepPlan {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;
  std::vector<double> ms;  ///< of forward and backward, waiting for others left out

  /// The first device's peak over the mean peak of the others; 1 where there are no others.
  double imbalance() const;
};

/// What was measured of a step, by device.
struct StepProbe {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;
  std::vector<double> ms = {};  ///< of forward and backward; empty: not measured
};

/// What steps of any size need, learnt from a few.
class StepModel {
 public:
  explicit StepModel(std::vector<DeviceNeed> needs) : needs_(std::move(needs)) {}
  /// The model that the probes fit, with the devices' limits of now.
  ///
  /// @param probes  with two devices or more three that tell a device's own rows from the batch's;
  ///                with one device two.
  /// @throws InvalidArgument  the probes do not tell.
  static StepModel fit(std::span<const Device> devices, std::span<const StepProbe> probes);

  /// Gives the needs the times of the line that the probes come nearest to, where they have times.
  void fit_times(std::span<const StepProbe> probes);

  const std::vector<DeviceNeed>& needs() const noexcept { return needs_; }
  StepPlan predict(std::vector<std::int64_t> rows) const;
  /// The best rows for the goal, of those that keep to all limits.
  ///
  /// @throws InvalidArgument  no rows keep to the limits; it names the largest batch that does.
  /// @cost  a few operations for each row and device.
  StepPlan plan(std::int64_t batch_rows, PlanGoal goal = PlanGoal::least_peak) const;
  /// The most rows that keep to all limits; INT64_MAX where none is reached, -1 where not even an
  /// empty batch does.
  std::int64_t largest_batch() const;

 private:
  /// Rows that a device has room for.
  std::int64_t capacity(const DeviceNeed& need, std::int64_t batch_rows) const;
  bool fits(std::int64_t batch_rows) const;

  std::vector<DeviceNeed> needs_;
};

}  // namespace tandem::parallel
