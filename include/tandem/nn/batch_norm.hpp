// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/nn/module.hpp"
#include "tandem/ops/batch_norm.hpp"

namespace tandem::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  ///< not set: average over all batches so far
  bool affine = true;
  bool track_running_stats = true;  ///< false: evaluation uses batch statistics too
  BatchNormSync sync = BatchNormSync::synchronised;
  NormActivation activation = NormActivation::none;  ///< applied in the same pass over memory
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Normalises each channel (dimension 1) by the statistics of the batch in training, and by the
/// running statistics in evaluation.
///
/// A forward in training updates the running buffers in place. If `sync` is synchronised or merged,
/// that forward is collective over the replicas of a data-parallel call, and all replicas get the
/// same buffers.
class BatchNorm : public Module {
 public:
  Parameter weight, bias;                  ///< (C); undefined if not affine
  BufferTensor running_mean, running_var;  ///< (C); undefined if not tracked
  BufferTensor num_batches_tracked;        ///< i64 scalar; undefined if not tracked

  const BatchNormOptions& options() const noexcept { return options_; }
  void set_sync(BatchNormSync sync) noexcept { options_.sync = sync; }

 protected:
  BatchNorm(std::int64_t num_features, BatchNormOptions options);
  Tensor normalize(const Tensor& x);

 private:
  std::int64_t num_features_;
  BatchNormOptions options_;
};

/// Sets how every batch norm in `module` takes statistics in a data-parallel call, like
/// torch.nn.SyncBatchNorm.convert_sync_batchnorm. Call it before the module is wrapped.
///
/// @return  the number of batch norms.
int convert_sync_batchnorm(Module& module, BatchNormSync sync = BatchNormSync::synchronised);

/// Batch norm over (N, C) or (N, C, L).
class BatchNorm1d : public BatchNorm {
 public:
  explicit BatchNorm1d(std::int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(num_features, options) {}
  /// @throws InvalidArgument  if x has another number of dimensions or channels.
  Tensor forward(const Tensor& x);
  TANDEM_MODULE(BatchNorm1d, weight, bias, running_mean, running_var, num_batches_tracked)
};

/// Batch norm over (N, C, H, W).
class BatchNorm2d : public BatchNorm {
 public:
  explicit BatchNorm2d(std::int64_t num_features, BatchNormOptions options = {})
      : BatchNorm(num_features, options) {}
  /// @throws InvalidArgument  if x has another number of dimensions or channels.
  Tensor forward(const Tensor& x);
  TANDEM_MODULE(BatchNorm2d, weight, bias, running_mean, running_var, num_batches_tracked)
};

}  // namespace tandem::nn
