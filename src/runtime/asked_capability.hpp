// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem {

/// @throws InvalidArgument  TANDEM_CPU_CAPABILITY is set, and names no CpuCapability.
void check_asked_capability();

}  // namespace tandem
