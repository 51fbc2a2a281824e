// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// Completed gradients of one rank that are reduced in one message.
struct GradBucket {
  int index = 0;  ///< bucket 0 is the first that backward completes
  bool is_last = false;
  /// Flat views of the gradients themselves: the optimizer reads what is written here. There are
  /// several if the parameters are not adjacent in memory.
  std::vector<Tensor> gradients;
  std::vector<std::string> parameters;  ///< names
};

/// What DistributedDataParallel does with a bucket instead of taking the mean over the ranks: the
/// hook starts the exchange and returns a handle. After the handle's wait() the bucket holds the
/// result.
///
/// Called on the rank's thread during backward, for all buckets in the order of their indices,
/// which is the same on all ranks. If it throws, the backward fails.
using CommHook = std::function<comm::Handle(comm::Communicator& comm, const GradBucket& bucket)>;

/// The mean over the ranks, as without a hook.
comm::Handle allreduce_hook(comm::Communicator& comm, const GradBucket& bucket);
/// The mean in f16: half the bytes of f32. To stay within f16's range, each rank divides its
/// gradients by the number of ranks before it sends them.
comm::Handle fp16_compress_hook(comm::Communicator& comm, const GradBucket& bucket);
/// The mean in bf16: half the bytes of f32, with 8 bits of precision.
comm::Handle bf16_compress_hook(comm::Communicator& comm, const GradBucket& bucket);
/// No exchange: each rank keeps its own gradients. Shows how long the rest of a step takes.
comm::Handle noop_hook(comm::Communicator& comm, const GradBucket& bucket);

}  // namespace tandem::parallel
