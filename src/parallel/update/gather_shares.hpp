// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"

#include "parallel/reduce/buckets.hpp"

namespace tandem::parallel {

/// Gives a device the values of the shares that the others have updated, from the last bucket to
/// the first, in which the next forward begins. All devices call it; work that uses the values
/// waits.
///
/// @param group  of all devices, so that ranks and devices have the same numbers.
/// @throws Desync, CommAborted, Timeout
void gather_shares(const optim::Arena& arena,
                   const std::vector<Bucket>& buckets,
                   comm::Communicator& group);

}  // namespace tandem::parallel
