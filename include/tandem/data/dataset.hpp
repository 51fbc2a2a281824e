// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tandem/io/host_array.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::datasets {

/// Samples by index. Derive from it for your own data.
///
/// It gives arrays of host memory and not tensors, because a DataLoader calls it on its own threads
/// while devices run a step, and only a device's own thread may allocate and free its memory.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// The number of samples.
  virtual std::int64_t size() const = 0;
  /// The samples at `indices`, in that order, stacked along the first dimension. There is one array
  /// for each part of a sample (image, label).
  ///
  /// It must be thread-safe. Its exceptions reach the consumer of the DataLoader.
  virtual std::vector<HostArray> get(std::span<const std::int64_t> indices) const = 0;
  /// The samples as a DataLoader's epoch sees them. Override it for data sets that change their
  /// samples at random. A change must follow from the epoch and the index, so that a run can be
  /// continued anywhere.
  virtual std::vector<HostArray> get_in_epoch(std::span<const std::int64_t> indices,
                                              std::int64_t /*epoch*/) const {
    return get(indices);
  }
};

/// Arrays whose first dimension counts the samples.
class TensorDataset : public Dataset {
 public:
  /// @throws InvalidArgument  if there is no array, one is a scalar, or first dimensions differ.
  explicit TensorDataset(std::vector<HostArray> arrays);
  /// Copies the tensors to host memory. Reads their devices.
  explicit TensorDataset(std::span<const Tensor> tensors);

  std::int64_t size() const override { return arrays_.front().shape[0]; }
  /// @throws InvalidArgument  if an index is outside [0, size()).
  std::vector<HostArray> get(std::span<const std::int64_t> indices) const override;

 private:
  std::vector<HostArray> arrays_;
};

}  // namespace tandem::datasets
