// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/parallel/options.hpp"

namespace tandem::libtorch::detail {

/// Options for a module of PyTorch, with the devices, which are registered.
///
/// @throws InvalidArgument  an option, or a device, is none that modules of PyTorch have.
parallel::DataParallelOptions checked_options(parallel::DataParallelOptions options);

}  // namespace tandem::libtorch::detail
