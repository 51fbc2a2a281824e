// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/collective.hpp"

namespace tandem::comm {

/// Drops the tensor that a gather or scatter does not look at on this rank, and gives an all_to_all
/// without counts those of even parts.
///
/// @throws InvalidArgument  it cannot be cut evenly.
void complete_part(Collective& collective, int rank, int size);

/// Checks what one rank can know to be wrong with its part.
///
/// @throws InvalidArgument  see Communicator.
void check_part(const Collective& collective, int rank, int size, Device device);

}  // namespace tandem::comm
