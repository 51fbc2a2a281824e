// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/library.h>

namespace tandem::libtorch {

/// A place to register kernels for a dispatch key; it lives until the process ends.
///
/// @param name  "aten", or "_" for the fallback of all ops.
torch::Library& kernel_library(const char* name,
                               c10::DispatchKey key = c10::DispatchKey::PrivateUse1);

}  // namespace tandem::libtorch
