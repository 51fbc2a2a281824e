// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::cuda {

/// Throws DeviceError if the last launch of the calling thread failed.
void check_launch(const char* name);

}  // namespace tandem::cuda
