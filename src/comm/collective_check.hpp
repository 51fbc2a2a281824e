// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/collective.hpp"

namespace tandem::comm {

/// Drops the tensor that a gather or scatter does not use on this rank. Gives an all_to_all without
/// counts the counts of even parts.
///
/// @throws InvalidArgument  a tensor cannot be cut evenly.
void complete_part(Collective& collective, int rank, int size);

/// Checks everything about a rank's part that the rank can check on its own.
///
/// @throws InvalidArgument  see Communicator.
void check_part(const Collective& collective, int rank, int size, Device device);

}  // namespace tandem::comm
