// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/tensor/tensor.hpp"

namespace tandem {

/// gather by an i64 index that is known to be good: nothing is read from the device.
Tensor take(const Tensor& x, int dim, const Tensor& index);
/// scatter_add likewise. @param source  of the index's shape.
Tensor put(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
/// Reads the device once, unless the bounds of the entries are known (see Buffer::integers).
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
