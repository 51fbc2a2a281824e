// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/io/host_array.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::datasets {

/// Samples by index: override it for data of your own.
///
/// Gives arrays of host memory, not tensors: a DataLoader calls it on threads of its own while
/// devices run a step, and a device's memory is taken and freed by the device's own thread alone.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// Number of samples.
  virtual std::int64_t size() const = 0;
  /// The samples at `indices`, in that order, stacked along the first dimension: one array for each
  /// part of a sample (image, label).
  ///
  /// Thread-safe. What it throws reaches the consumer of the DataLoader.
  virtual std::vector<HostArray> get(std::span<const std::int64_t> indices) const = 0;
  /// The samples as a DataLoader's epoch sees them: for data sets that change their samples at
  /// random. Such a change follows from the epoch and the index, so that a run can go on anywhere.
  virtual std::vector<HostArray> get_in_epoch(std::span<const std::int64_t> indices,
                                              std::int64_t /*epoch*/) const {
    return get(indices);
  }
};

/// Arrays whose first dimension counts the samples.
class TensorDataset : public Dataset {
 public:
  /// @throws InvalidArgument  no array, a scalar, or first dimensions that differ.
  explicit TensorDataset(std::vector<HostArray> arrays);
  /// Copies the tensors to host memory. Reads their devices.
  explicit TensorDataset(std::span<const Tensor> tensors);

  std::int64_t size() const override { return arrays_.front().shape[0]; }
  /// @throws InvalidArgument  an index outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<HostArray> arrays_;
};

}  // namespace tandem::datasets
