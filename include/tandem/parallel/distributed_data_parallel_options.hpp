// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/parallel/exchange.hpp"

namespace tandem::parallel {

/// How much each rank's gradient counts in the sum.
enum class Average : std::uint8_t {
  /// In proportion to its rows in the batch of all ranks. The result is the mean over all rows even
  /// if ranks have different numbers of rows.
  rows,
  /// 1 / ranks, as in PyTorch. The result is the mean over all rows only if all ranks have equally
  /// many.
  world_size,
};

/// `DistributedDataParallel ddp(net, rank, {.find_unused_parameters = true})`
struct DistributedDataParallelOptions {
  int dim = 0;  ///< the dimension of the rows in inputs
  Average average = Average::rows;
  /// What happens to parameters that a rank's loss does not depend on. False: an error that names
  /// them. True: they are looked for in every backward, which costs a collective over one byte per
  /// parameter.
  bool find_unused_parameters = false;
  /// Every iteration uses the same parameters as the first one. Parameters that the first one
  /// leaves out need no find_unused_parameters, and a later iteration that differs is an error that
  /// names them.
  bool static_graph = false;
  /// Broadcasts the buffers of rank 0 (in a join, of the first rank that still has batches) before
  /// each forward in training that records gradients.
  bool broadcast_buffers = true;
  Exchange exchange = {};
};

/// How the mean is taken when some ranks have no more batches.
enum class Divide : std::uint8_t {
  by_initial_world_size,  ///< ranks without batches count as zero gradients
  by_present_world_size,  ///< ranks without batches do not count
};

/// `ddp.join(loop, {.divide = Divide::by_present_world_size})`
///
/// `divide` matters for Average::world_size; Average::rows always takes the mean over the rows
/// present.
struct JoinOptions {
  Divide divide = Divide::by_initial_world_size;
  /// Makes it an error on all ranks when the first rank has no more batches.
  bool throw_on_early_termination = false;
};

}  // namespace tandem::parallel
