// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>

#include "tandem/runtime/context.hpp"

#include "libtorch/gpu/caller_streams.hpp"
#include "libtorch/kernels/op_names.hpp"
#include "libtorch/modules/node_order.hpp"
#include "libtorch/modules/torch_source.hpp"
#include "runtime/openmp_threads.hpp"

namespace tandem::libtorch {

/// What the caller's thread tells PyTorch in the replicas: grad mode, autocast, hooks of saved
/// tensors, how many threads kernels may use, where the numbers of nodes begin, and which call it
/// is.
struct CallerState {
  /// For replicas of a module on PyTorch's `cpu`: autocast for the host is one for their devices.
  static CallerState of_host();

  at::ThreadLocalState state = {};
  std::vector<c10::Stream> streams = current_gpu_streams();
  int threads = at::get_num_threads();
  std::uint64_t first_node = NodeOrder::next();
  std::uint64_t call = count();

 private:
  static std::uint64_t count() noexcept;
};

/// Until its end PyTorch's kernels on this thread use at most `threads` threads. PyTorch's own
/// at::set_num_threads would set the number of other threads too, those of the program.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);

 private:
  OpenMpThreads threads_;
};

/// A replica's job on this thread: PyTorch has the caller's state here, the replica's device is the
/// current one, and the replica's parameters have arrived. Its end counts the replica's buffers as
/// written: in training all, since PyTorch does not count what each kernel writes, and else those
/// that PyTorch has counted.
class ReplicaScope {
 public:
  /// @param source  kept alive by what the scope records.
  /// @throws Timeout, CommAborted  while waiting for parameters that are in transit.
  ReplicaScope(std::shared_ptr<TorchSource> source, const CallerState& caller);
  /// A part of it, which PyTorch's engine computes again in the thread's own state.
  explicit ReplicaScope(std::shared_ptr<TorchSource> source);
  ~ReplicaScope();
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

  /// The innermost one of this thread. @throws InvalidArgument  there is none.
  static const ReplicaScope& current();
  /// The same; null: there is none.
  static const ReplicaScope* find() noexcept;
  const std::shared_ptr<TorchSource>& source() const noexcept { return source_; }
  const BatchNorms& batch_norms() const noexcept { return source_->ops().batch_norms; }
  DropoutMask dropout() const noexcept { return source_->ops().dropout; }

 private:
  std::shared_ptr<TorchSource> source_;
  std::optional<at::ThreadLocalStateGuard> state_;
  std::optional<c10::MultiStreamGuard> streams_;
  c10::DeviceGuard device_;
  const bool trains_;  // as the caller sees it: batch norms seem not to while the job runs
  const std::vector<std::uint32_t> buffers_before_;
  BatchNorms::Job batch_norms_;
  std::optional<ThreadLimit> threads_;
  ContextScope module_;  // PyTorch does not say which part of the module calls an op
  OpNames ops_;
  const ReplicaScope* before_;
};

/// Waits for bytes of the source's tensors that are in transit between devices.
void await_tensors(const TorchSource& source);

}  // namespace tandem::libtorch
