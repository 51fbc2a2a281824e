// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Gradients of one rank that are complete, and are reduced in one message.
struct GradBucket {
  int index = 0;  ///< 0 is the first that backward completes
  bool is_last = false;
  /// Flat, and the gradients themselves: what is written here is what the optimizer reads. More
  /// than one where the parameters do not lie next to each other.
  std::vector<Tensor> gradients;
  std::vector<std::string> parameters;  ///< names
};

/// What DistributedDataParallel does with a bucket in place of the mean over the ranks: starts its
/// exchange, and returns a handle after whose wait() the bucket holds the result.
///
/// Called on the rank's thread, in backward, for all buckets in the order of their indices, which
/// is the same on all ranks; what it throws ends the backward.
using CommHook = std::function<comm::Handle(comm::Communicator& comm, const GradBucket& bucket)>;

/// The mean over the ranks: what is done without a hook.
comm::Handle allreduce_hook(comm::Communicator& comm, const GradBucket& bucket);
/// The mean in f16: half the bytes of f32, and its range: divided by the ranks before it is sent.
comm::Handle fp16_compress_hook(comm::Communicator& comm, const GradBucket& bucket);
/// The mean in bf16: half the bytes of f32, 8 bits of precision.
comm::Handle bf16_compress_hook(comm::Communicator& comm, const GradBucket& bucket);
/// Nothing: each rank keeps its own gradients. How long the rest of a step takes.
comm::Handle noop_hook(comm::Communicator& comm, const GradBucket& bucket);

}  // namespace tandem::parallel
