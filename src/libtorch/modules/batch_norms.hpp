// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <torch/nn/module.h>

#include "tandem/ops/batch_norm.hpp"

#include "libtorch/modules/batch_norm_module.hpp"

namespace tandem::libtorch {

/// Whether the module is one of torch::nn::BatchNorm1d, 2d and 3d, or a BatchNormModule.
bool is_batch_norm(const torch::nn::Module& module);
/// How each batch norm of `module` takes its statistics, in the order of modules(): as
/// convert_sync_batchnorm says, else `fallback`.
std::vector<BatchNormSync> batch_norm_syncs(torch::nn::Module& module, BatchNormSync fallback);

// PyTorch's modules cannot be replaced in C++, since their owners hold them by their class. So the
// op aten::batch_norm is what synchronises, and this class tells it which module calls. While a
// replica runs, its batch norms that train and have running statistics are in evaluation mode:
// otherwise the module itself would refuse a replica with one row, before the op is called. The op
// knows them by their running mean, and trains nevertheless.

/// The batch norms of a replica's module. Used by the replica's thread.
class BatchNorms {
 public:
  /// A batch norm that trains in the job that runs.
  struct Training {
    RunningState running;
    BatchNormSync sync;
  };
  /// A job of a replica.
  class Job {
   public:
    explicit Job(BatchNorms& norms) : norms_(norms) { norms_.begin(); }
    ~Job() { norms_.end(); }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

   private:
    BatchNorms& norms_;
  };

  /// @param syncs  of the user's module, which has the same parts.
  /// @throws InvalidArgument  the copy has other batch norms than the module.
  BatchNorms(torch::nn::Module& copy,
             const std::vector<BatchNormSync>& syncs,
             BatchNormSync fallback);

  /// The batch norm that has this running mean; null: none that trains in this job.
  const Training* find(const at::Tensor& running_mean) const;
  /// The rule for batch norms without a module, or without running statistics.
  BatchNormSync fallback() const noexcept { return fallback_; }
  /// The names of the buffers that training makes equal in all replicas.
  const std::vector<std::string>& equal_buffers() const noexcept { return equal_buffers_; }

 private:
  struct Part {
    torch::nn::Module* module;
    BatchNormSync sync;
  };
  void begin();
  void end();

  std::vector<Part> parts_;
  std::vector<std::string> equal_buffers_;
  BatchNormSync fallback_;
  std::vector<Training> training_;
  std::vector<torch::nn::Module*> disguised_;  // in evaluation mode until the job's end
};

}  // namespace tandem::libtorch
