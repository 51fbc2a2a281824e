// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/parallel/chunks.hpp"
#include "tandem/parallel/detail/batch_size.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/parallel/step_model.hpp"

namespace tandem::parallel {

/// Plans the rows of steps by what the devices need. It learns this from steps without effect, and
/// replans if a device is out of memory.
class StepPlanner {
 public:
  /// Takes a step with these rows, without effect. @throws ReplicaError
  using Rehearse = std::function<StepProbe(const std::vector<std::int64_t>& rows)>;

  StepPlanner(std::vector<Device> devices, ChunkPolicy policy)
      : devices_(std::move(devices)), policy_(std::move(policy)) {}

  const ChunkPolicy& policy() const noexcept { return policy_; }
  /// Each device's rows. @throws InvalidArgument  see ChunkPolicy::plan.
  std::vector<RowRange> plan(std::int64_t rows) const;
  /// Measures if the policy wants a model, has none yet, and the batch is large enough.
  void learn(const BatchSize& batch, const Rehearse& rehearse);
  /// See ReplicaSet::measure. @throws InvalidArgument  also where rows are to go by the times of
  /// shape-only devices.
  StepModel measure(const BatchSize& batch, const Rehearse& rehearse) const;
  /// See ReplicaSet::try_batch.
  std::optional<StepProbe> try_batch(const BatchSize& batch, const Rehearse& rehearse) const;
  /// Whether the batch has enough rows to learn from.
  bool is_large_enough(const BatchSize& batch) const;
  /// Replans after an out-of-memory `error`, which is being handled.
  ///
  /// @throws InvalidArgument  no plan fits; `error` is nested in it.
  void replan(const BatchSize& batch, const Rehearse& rehearse, const ReplicaError& error);

 private:
  /// Takes steps without effect, to which a model can be fitted.
  void check_memory() const;
  std::vector<StepProbe> probe(std::int64_t batch_rows, const Rehearse& rehearse) const;
  /// @throws InvalidArgument  rows are to go by times, and a device computes nothing.
  void check_times() const;

  std::vector<Device> devices_;
  ChunkPolicy policy_;
};

/// Whether the error comes from a device that was out of memory.
bool is_out_of_memory(const ReplicaError& error);
/// Ranges with these numbers of rows, one after the other.
std::vector<RowRange> ranges_of(const std::vector<std::int64_t>& rows);

}  // namespace tandem::parallel
