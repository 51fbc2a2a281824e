// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/replicas/device/replica_source.hpp"

namespace tandem::parallel {

/// Keeps the storage that a module's tensors have before they move to the first device. If the move
/// is not completed, they get it back. Until then the values do not change.
class ModuleMove {
 public:
  /// @param to  the device; a tensor that is there already stays.
  /// @throws InvalidArgument  a tensor that is to move has a gradient.
  ModuleMove(ReplicaSource& module, Device to);
  ~ModuleMove();
  ModuleMove(const ModuleMove&) = delete;
  ModuleMove& operator=(const ModuleMove&) = delete;

  /// Lets the storage go.
  void complete() noexcept { places_.clear(); }

 private:
  struct Place {
    Tensor tensor;
    std::shared_ptr<Buffer> buffer;
    std::int64_t offset;
    Strides strides;
    DType dtype;
    std::shared_ptr<StorageHome> home;
  };

  std::vector<Place> places_;
};

}  // namespace tandem::parallel
