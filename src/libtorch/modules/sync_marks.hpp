// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "tandem/ops/batch_norm.hpp"

namespace torch::nn {
class Module;
}

namespace tandem::libtorch {

/// What convert_sync_batchnorm has said, of batch norms that still live. PyTorch's modules have no
/// place for such a mark.
///
/// Thread-safe.
class SyncMarks {
 public:
  static SyncMarks& get();

  void set(const std::shared_ptr<torch::nn::Module>& module, BatchNormSync sync);
  /// @return  `fallback` if nothing has been said.
  BatchNormSync find(const torch::nn::Module& module, BatchNormSync fallback);

 private:
  struct Mark {
    std::weak_ptr<torch::nn::Module> module;
    BatchNormSync sync;
  };

  std::mutex mutex_;
  std::unordered_map<const torch::nn::Module*, Mark> marks_;
};

}  // namespace tandem::libtorch
