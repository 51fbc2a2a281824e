// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/ops/batch_norm.hpp"

namespace torch::nn {
class Module;
}

namespace tandem::libtorch {

/// Sets how each torch::nn::BatchNorm1d, 2d and 3d in `module` takes its statistics in a
/// DataParallel, like torch.nn.SyncBatchNorm.convert_sync_batchnorm. It prevails over
/// ModuleOptions::batch_norm.
///
/// The module itself stays as it is, with its parts, its values and its state dict. Call it before
/// the module is wrapped; a clone() has no such settings. Thread-safe.
/// @return  the number of batch norms.
int convert_sync_batchnorm(torch::nn::Module& module,
                           BatchNormSync sync = BatchNormSync::synchronised);

}  // namespace tandem::libtorch
