// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What one device needs in a step. Memory, in bytes: fixed + per_row * its rows + per_batch_row *
/// rows of the whole batch. Time, in ms: fixed_ms + ms_per_row * its rows.
struct DeviceNeed {
  Device device;
  double fixed = 0;          ///< parameters, gradients, the optimizer's state, ...
  double per_row = 0;        ///< activations, ...
  double per_batch_row = 0;  ///< the batch itself and gathered outputs, where they lie
  std::size_t limit = SIZE_MAX;
  double fixed_ms = 0;  ///< its forward and backward, if it has rows
  double ms_per_row = 0;

  double peak(std::int64_t rows, std::int64_t batch_rows) const noexcept {
    return fixed + per_row * static_cast<double>(rows) +
           per_batch_row * static_cast<double>(batch_rows);
  }
  double ms(std::int64_t rows) const noexcept {
    return rows == 0 ? 0 : fixed_ms + ms_per_row * static_cast<double>(rows);
  }
};

/// What a plan minimises.
enum class PlanGoal : std::uint8_t {
  least_peak,  ///< the largest peak of any device
  least_time,  ///< the longest time of any device's forward and backward
};

/// Rows for each device, and the predicted memory and time.
struct StepPlan {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;
  std::vector<double> ms;  ///< forward and backward, without waiting for other devices

  /// The first device's peak over the mean peak of the others; 1 if there are no others.
  double imbalance() const;
};

/// What was measured in a step, by device.
struct StepProbe {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;
  std::vector<double> ms = {};  ///< forward and backward; empty: not measured
};

/// What steps of any size need, learnt from a few steps.
class StepModel {
 public:
  explicit StepModel(std::vector<DeviceNeed> needs) : needs_(std::move(needs)) {}
  /// Fits a model to the probes. Takes the devices' current limits.
  ///
  /// @param probes  two for one device. For several devices three, which must tell a device's own
  ///                rows from the batch's rows. A device that has no rows in any of them gets none
  ///                in a plan either.
  /// @throws InvalidArgument  there are too few probes, or they do not tell these apart.
  static StepModel fit(std::span<const Device> devices, std::span<const StepProbe> probes);

  /// Fits each device's times to the probes that have times, by least squares.
  void fit_times(std::span<const StepProbe> probes);

  const std::vector<DeviceNeed>& needs() const noexcept { return needs_; }
  StepPlan predict(std::vector<std::int64_t> rows) const;
  /// The rows that serve the goal best within all limits.
  ///
  /// @throws InvalidArgument  no rows fit within the limits; names the largest batch that does.
  /// @cost  a few operations per row and device.
  StepPlan plan(std::int64_t batch_rows, PlanGoal goal = PlanGoal::least_peak) const;
  /// The most rows that fit within all limits. INT64_MAX if no limit is reached, -1 if not even an
  /// empty batch fits.
  std::int64_t largest_batch() const;

 private:
  /// The most rows that a device has room for.
  std::int64_t capacity(const DeviceNeed& need, std::int64_t batch_rows) const;
  bool fits(std::int64_t batch_rows) const;

  std::vector<DeviceNeed> needs_;
};

}  // namespace tandem::parallel
