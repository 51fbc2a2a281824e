// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// A replica that is one of tandem's own modules.
class ModuleSource final : public ReplicaSource {
 public:
  /// @param module  outlives this object.
  explicit ModuleSource(nn::Module& module) noexcept : module_(module) {}

  void visit_tensors(const TensorVisitor& f) override { nn::visit_tensors(module_, f); }
  bool is_training() const override { return module_.is_training(); }
  std::vector<std::string> unit_paths(const UnitPolicy& policy) override {
    return policy.paths(module_);
  }
  std::vector<Tensor> equal_buffers() override;
  void check_unwrapped() override;
  void mark_wrapped(const std::shared_ptr<const void>& wrapper) override;
  void follow(ReplicaSource& original) override;

 private:
  nn::Module& module_;
};

}  // namespace tandem::parallel
