// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/libtorch/sync_batchnorm.hpp"

#include "libtorch/modules/batch_norms.hpp"
#include "libtorch/modules/sync_marks.hpp"

namespace tandem::libtorch {

int convert_sync_batchnorm(torch::nn::Module& module, BatchNormSync sync) {
  int count = 0;
  for (const auto& part : module.modules()) {
    if (!is_batch_norm(*part)) continue;
    SyncMarks::get().set(part, sync);
    ++count;
  }
  return count;
}

}  // namespace tandem::libtorch
