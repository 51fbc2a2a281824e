// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// Reads the device once.
///
/// @param what   "index" or "label", for the message.
/// @param index  i64, any shape.
/// @throws InvalidArgument  an entry is outside of [0, size) and not `ignored`; names row and
/// entry.
void check_index(const char* op,
                 const char* what,
                 const Tensor& index,
                 std::int64_t size,
                 std::optional<std::int64_t> ignored = std::nullopt);

}  // namespace tandem
