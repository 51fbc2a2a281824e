// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/comm/collective.hpp"

namespace tandem::comm {

/// Checks what one rank can know to be wrong with its part.
///
/// @throws InvalidArgument  see Communicator.
void check_part(const Collective& collective, int rank, int size, Device device);

}  // namespace tandem::comm
