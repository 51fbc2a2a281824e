// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

namespace tandem::comm {

/// Throws DeviceError unless `result` is success or, of a communicator that does not block, that
/// the call is under way.
///
/// @param call  its text up to the parenthesis is named.
void check_nccl(ncclResult_t result, const char* call);

}  // namespace tandem::comm

/// Throws DeviceError with call and reason unless the NCCL call succeeds or is under way.
#define TANDEM_NCCL(expr) ::tandem::comm::check_nccl((expr), #expr)
