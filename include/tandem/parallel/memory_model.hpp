// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// The peak of one device in a step, in bytes: fixed + per_row * its rows + per_batch_row * rows of
/// the whole batch.
struct MemoryNeed {
  Device device;
  double fixed = 0;          ///< parameters, gradients, the optimizer's state, ...
  double per_row = 0;        ///< activations, ...
  double per_batch_row = 0;  ///< the batch itself and gathered outputs, where they are
  std::size_t limit = SIZE_MAX;

  double peak(std::int64_t rows, std::int64_t batch_rows) const noexcept {
    return fixed + per_row * static_cast<double>(rows) +
           per_batch_row * static_cast<double>(batch_rows);
  }
};

/// Rows for each device, and the peaks that they come to.
struct MemoryPlan {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;

  /// The first device's peak over the mean peak of the others; 1 where there are no others.
  double imbalance() const;
};

/// What was measured of a step: rows and peaks by device.
struct MemoryProbe {
  std::vector<std::int64_t> rows;
  std::vector<std::size_t> peak_bytes;
};

/// What steps of any size need, learnt from a few.
class MemoryModel {
 public:
  explicit MemoryModel(std::vector<MemoryNeed> needs) : needs_(std::move(needs)) {}
  /// The model that the probes fit, with the devices' limits of now.
  ///
  /// @param probes  with two devices or more three that tell a device's own rows from the batch's;
  ///                with one device two.
  /// @throws InvalidArgument  the probes do not tell.
  static MemoryModel fit(std::span<const Device> devices, std::span<const MemoryProbe> probes);

  const std::vector<MemoryNeed>& needs() const noexcept { return needs_; }
  MemoryPlan predict(std::vector<std::int64_t> rows) const;
  /// The rows with the least largest peak, of those that keep to all limits.
  ///
  /// @throws InvalidArgument  no rows keep to the limits; it names the largest batch that does.
  /// @cost  a few operations for each row and device.
  MemoryPlan plan(std::int64_t batch_rows) const;
  /// The most rows that keep to all limits; INT64_MAX where none is reached, -1 where not even an
  /// empty batch does.
  std::int64_t largest_batch() const;

 private:
  /// Rows that a device has room for.
  std::int64_t capacity(const MemoryNeed& need, std::int64_t batch_rows) const;
  bool fits(std::int64_t batch_rows) const;

  std::vector<MemoryNeed> needs_;
};

}  // namespace tandem::parallel
