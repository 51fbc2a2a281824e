// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// What training changes of a batch norm.
struct RunningState {
  at::Tensor mean;                 ///< undefined: it keeps no running statistics
  at::Tensor batches;              ///< how many there were; undefined: they are not counted
  std::optional<double> momentum;  ///< none: the average over all batches
};

/// A batch norm that is none of PyTorch's classes of C++: a module that is also derived from this
/// is one.
class BatchNormModule {
 public:
  virtual ~BatchNormModule() = default;

  /// On any thread.
  virtual RunningState running_state() const = 0;
};

}  // namespace tandem::libtorch
