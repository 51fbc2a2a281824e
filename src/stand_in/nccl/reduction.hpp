// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

namespace tandem::stand_in {

/// Bytes of an element of one of NCCL's types; 0: it is none.
std::size_t nccl_size(int type);

/// Puts the reduction of `from`, each of n elements, to `to`, which may be one of them.
///
/// @param op  NCCL's: sum, product, maximum, minimum, average.
/// @return  whether the type and the operation are known.
bool reduce_elements(
    int type, int op, const std::vector<const void*>& from, void* to, std::size_t n);

}  // namespace tandem::stand_in
