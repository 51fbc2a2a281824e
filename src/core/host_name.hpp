// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tandem {

/// This host's name; "unknown" if the system does not say it.
std::string host_name();

}  // namespace tandem
