// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"

// Collectives on the tape: each returns a new tensor, and its backward is the transposed collective
// (torch.distributed.nn.functional). Each is differentiable any number of times.
//
// Collective, forward and backward: what is on the tape of one rank is on that of all, and every
// rank runs backward, from its own thread. A rank whose output is of no use to it adds it times
// zero to its loss. Tensors may be strided, and are of float types; cuts are along the first
// dimension, by `rows`: how many each rank has, or even parts where none are given. The
// communicator outlives the tape. Errors are those of Communicator; what is refused frees the
// peers.
namespace tandem::comm {

/// The reduction of all `x` on every rank. Backward: all_reduce.
///
/// @param reduction  sum, avg or premul_sum.
Tensor all_reduce(Communicator& comm, const Tensor& x, Reduction reduction = ReduceOp::sum);

/// The root's `x` on every rank. Backward: reduce; the others' gradient is zero.
Tensor broadcast(Communicator& comm, const Tensor& x, int root);

/// The reduction of all `x` on the root, zeros on the others. Backward: broadcast.
///
/// @param reduction  sum, avg or premul_sum.
Tensor reduce(Communicator& comm, const Tensor& x, Reduction reduction, int root);

/// All `x` one after the other on the root, no rows on the others. Backward: scatter.
Tensor gather(Communicator& comm, const Tensor& x, int root, std::vector<std::int64_t> rows = {});

/// This rank's part of the root's `x`. Backward: gather.
///
/// @param x  of no rows on the others.
/// @param rows  the same on all ranks; needed where they are not even, and on the others.
Tensor scatter(Communicator& comm, const Tensor& x, int root, std::vector<std::int64_t> rows);

/// All `x` one after the other on every rank. Backward: reduce_scatter.
Tensor all_gather(Communicator& comm, const Tensor& x, std::vector<std::int64_t> rows = {});

/// This rank's part of the reduction of all `x`. Backward: all_gather.
///
/// @param reduction  sum, avg or premul_sum.
Tensor reduce_scatter(Communicator& comm,
                      const Tensor& x,
                      Reduction reduction = ReduceOp::sum,
                      std::vector<std::int64_t> rows = {});

/// Of every rank's `x` the part for this rank. Backward: all_to_all the other way.
///
/// @param input_rows   rows for each rank.
/// @param output_rows  rows from each rank.
Tensor all_to_all(Communicator& comm,
                  const Tensor& x,
                  std::vector<std::int64_t> input_rows = {},
                  std::vector<std::int64_t> output_rows = {});

}  // namespace tandem::comm
