// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

namespace tandem::stand_in {

/// Gives a function of the driver for its name; one that ends the process with the name, where the
/// stand-in has not got it.
///
/// @param call  of the run-time, which asks.
cudaError_t driver_entry(const char* call,
                         const char* symbol,
                         void** f,
                         cudaDriverEntryPointQueryResult* result);

}  // namespace tandem::stand_in
