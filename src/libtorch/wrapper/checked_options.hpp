// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/parallel/options.hpp"

namespace tandem::libtorch::detail {

/// Options for a module of PyTorch, with the devices, which are registered.
///
/// @param is_on_gpu  the module is on a GPU: without devices all GPUs are taken.
/// @throws InvalidArgument  an option, or a device, is none that modules of PyTorch have.
parallel::DataParallelOptions checked_options(parallel::DataParallelOptions options,
                                              bool is_on_gpu);

}  // namespace tandem::libtorch::detail
