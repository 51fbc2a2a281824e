// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/runtime/context.hpp"

namespace tandem::parallel::detail {

/// Whether a device takes part in a call: it has rows, or it is the first one and the batch is
/// empty.
inline bool is_active(const std::vector<RowRange>& rows, std::size_t device) {
  return rows[device].end > rows[device].begin || (device == 0 && rows.back().end == 0);
}

}  // namespace tandem::parallel::detail
