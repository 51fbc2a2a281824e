// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace tandem::comm {

/// Throws DeviceError unless `result` is success or, with a non-blocking communicator, "in
/// progress".
///
/// @param call  the message names its text up to the parenthesis.
void check_nccl(ncclResult_t result, const char* call);

}  // namespace tandem::comm

/// Throws DeviceError with the call and the reason unless the NCCL call succeeds or is in progress.
#define TANDEM_NCCL(expr) ::tandem::comm::check_nccl((expr), #expr)
