// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/nn/module.hpp"
#include "tandem/ops/norm.hpp"

namespace tandem::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  ///< none: the average of all batches so far
  bool affine = true;
  bool track_running_stats = true;  ///< false: batch statistics in evaluation too
  BatchNormSync sync = BatchNormSync::synchronised;
  NormActivation activation = NormActivation::none;  ///< relu: in the same pass over memory
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Normalises each channel (dimension 1): by the batch in training, by running statistics in
/// evaluation.
///
/// A forward in training updates the running buffers in place. Synchronised or merged, it is
/// collective over the replicas of a data-parallel call, which all come to the same buffers.
class BatchNorm : public Module {
 public:
  Parameter weight, bias;                  ///< (C); undefined where not affine
  BufferTensor running_mean, running_var;  ///< (C); undefined where not tracked
  BufferTensor num_batches_tracked;        ///< i64 scalar

  const BatchNormOptions& options() const noexcept { return options_; }
  void set_sync(BatchNormSync sync) noexcept { options_.sync = sync; }

 protected:
  BatchNorm(std::int64_t num_features, BatchNormOptions options);
  Tensor normalize(const Tensor& x);

 private:
  void update(const BatchNormStatistics& own);

  std::int64_t num_features_;
  BatchNormOptions options_;
};

/// Gives every batch norm in `module` this way of taking statistics in a data-parallel call, as
/// torch.nn.SyncBatchNorm.convert_sync_batchnorm does. Before the module is wrapped.
///
/// @return how many there are.
int convert_sync_batchnorm(Module& module, BatchNormSync sync = BatchNormSync::synchronised);

/// Over (N, C) or (N, C, L).
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(num_features, options) {}
  /// @throws InvalidArgument  another number of dimensions or channels.
  Tensor forward(const Tensor& x);
  TANDEM_MODULE(BatchNorm1d, weight, bias, running_mean, running_var, num_batches_tracked)
};

/// Over (N, C, H, W).
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(num_features, options) {}
  /// @throws InvalidArgument  another number of dimensions or channels.
  Tensor forward(const Tensor& x);
  TANDEM_MODULE(BatchNorm2d, weight, bias, running_mean, running_var, num_batches_tracked)
};

}  // namespace tandem::nn
