// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tandem/comm/communicator.hpp"

// Collectives on the tape. Each returns a new tensor, and its backward is the transposed collective
// (torch.distributed.nn.functional). Each is differentiable any number of times.
//
// Forward and backward are collective. An op that is on the tape of one rank must be on the tape of
// all, and every rank must run backward, from its own thread. A rank that has no use for an output
// adds it times zero to its loss. Tensors must be of float types, and may be strided. Tensors are
// cut along the first dimension. `rows` says how many rows each rank has; if it is empty, the parts
// are even. The communicator must outlive the tape. Errors are those of Communicator. A call that
// is refused also aborts the group, so that the other ranks do not wait for it.
namespace tandem::comm {

/// The reduction of all ranks' `x`, on every rank. Backward: all_reduce.
///
/// @param reduction  sum, avg or premul_sum.
Tensor all_reduce(Communicator& comm, const Tensor& x, Reduction reduction = ReduceOp::sum);

/// The root's `x`, on every rank. Backward: reduce; the gradient of the other ranks' `x` is zero.
Tensor broadcast(Communicator& comm, const Tensor& x, int root);

/// The reduction of all ranks' `x` on the root, zeros on the other ranks. Backward: broadcast.
///
/// @param reduction  sum, avg or premul_sum.
Tensor reduce(Communicator& comm, const Tensor& x, Reduction reduction, int root);

/// All ranks' `x`, one after another, on the root; no rows on the other ranks. Backward: scatter.
Tensor gather(Communicator& comm, const Tensor& x, int root, std::vector<std::int64_t> rows = {});

/// This rank's part of the root's `x`. Backward: gather.
///
/// @param x     must have no rows on the other ranks.
/// @param rows  the same on all ranks. Only the root may leave it empty, if the parts are even.
Tensor scatter(Communicator& comm, const Tensor& x, int root, std::vector<std::int64_t> rows);

/// All ranks' `x`, one after another, on every rank. Backward: reduce_scatter.
Tensor all_gather(Communicator& comm, const Tensor& x, std::vector<std::int64_t> rows = {});

/// This rank's part of the reduction of all ranks' `x`. Backward: all_gather.
///
/// @param reduction  sum, avg or premul_sum.
Tensor reduce_scatter(Communicator& comm,
                      const Tensor& x,
                      Reduction reduction = ReduceOp::sum,
                      std::vector<std::int64_t> rows = {});

/// The parts of all ranks' `x` that are for this rank. Backward: all_to_all the other way.
///
/// @param input_rows   rows for each rank.
/// @param output_rows  rows from each rank. If all input_rows are equal, it may be empty: then as
///                     many come from each rank as go to it.
Tensor all_to_all(Communicator& comm,
                  const Tensor& x,
                  std::vector<std::int64_t> input_rows = {},
                  std::vector<std::int64_t> output_rows = {});

}  // namespace tandem::comm
