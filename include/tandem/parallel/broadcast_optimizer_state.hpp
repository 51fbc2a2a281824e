// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/optim/optimizer.hpp"
#include "tandem/parallel/rank.hpp"

namespace tandem::parallel {

/// Gives all ranks' optimizers the root's state and options, also where they have none yet: so the
/// root alone reads a checkpoint. Parameters are DistributedDataParallel's to broadcast.
///
/// Collective. The optimizers are of one class, over parameters of the same names and shapes.
/// @throws InvalidArgument  a rank's optimizer has other parameters, or there is no rank root; see
///                          Optimizer::load_state_dict. That rank's state is as before.
/// @throws CommError        as any collective.
/// @cost  the state's bytes from the root to each other rank, and once more on each for a moment.
/// @source Horovod's broadcast_optimizer_state
void broadcast_optimizer_state(optim::Optimizer& optimizer, const Rank& rank, int root = 0);

}  // namespace tandem::parallel
