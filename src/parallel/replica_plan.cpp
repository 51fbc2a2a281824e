// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Steps whose rows are planned by what the devices need: measured by steps without effect, and
// planned anew where a device is full.

#include <algorithm>
#include <exception>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/replica_state.hpp"

namespace tandem::parallel {
namespace {

constexpr int kCorrections = 8;  // of a model
constexpr int kReplans = 8;      // of one step; each takes less of a device that was full
constexpr double kLess = 0.98;   // of its limit

/// One range after the other.
std::vector<RowRange> ranges_of(const std::vector<std::int64_t>& rows) {
  std::vector<RowRange> ranges;
  std::int64_t begin = 0;
  for (const std::int64_t n : rows) {
    ranges.push_back({begin, begin + n});
    begin += n;
  }
  return ranges;
}

bool is_out_of_memory(const ReplicaError& e) {
  return find_cause<OutOfMemory>(e) != nullptr;
}

}  // namespace

std::vector<RowRange> ReplicaSet::plan(std::int64_t rows) const {
  return ranges_of(state_->policy.plan(rows, state_->devices));
}

const ChunkPolicy& ReplicaSet::policy() const noexcept {
  return state_->policy;
}

StepResult ReplicaSet::step(const BatchSize& batch,
                            const LossBody& body,
                            optim::Optimizer* optimizer,
                            const StepOptions& step_options) {
  State& state = *state_;
  const auto n = static_cast<std::int64_t>(state.devices.size());
  if (state.policy.wants_model() && batch.rows >= 2 * n)
    state.policy = ChunkPolicy::planned(measure(batch, body, optimizer));
  for (int replans = 0;; ++replans) {
    try {
      return step(plan(batch.rows), body, optimizer, step_options);
    } catch (const ReplicaError& e) {
      if (state.options.on_oom != OnOutOfMemory::replan || !is_out_of_memory(e)) throw;
      if (replans == kReplans || batch.rows < 2 * n) throw;
      replan(batch, body, optimizer, e);
    }
  }
}

void ReplicaSet::replan(const BatchSize& batch,
                        const LossBody& body,
                        optim::Optimizer* optimizer,
                        const ReplicaError& error) {
  State& state = *state_;
  std::vector<MemoryNeed> needs;
  if (const MemoryModel* model = state.policy.model()) {
    needs = model->needs();
    for (MemoryNeed& need : needs) {
      if (need.device != error.device || need.limit == SIZE_MAX) continue;
      need.limit = static_cast<std::size_t>(static_cast<double>(need.limit) * kLess);
    }
  } else {
    needs = measure(batch, body, optimizer).needs();
  }
  MemoryModel next(std::move(needs));
  std::string refusal;
  try {
    next.plan(batch.rows);
  } catch (const InvalidArgument& e) {
    refusal = e.what();
  }
  // With the error that is being handled nested in it.
  if (!refusal.empty()) std::throw_with_nested(InvalidArgument(refusal));
  state.policy = ChunkPolicy::planned(std::move(next));
}

std::vector<std::size_t> ReplicaSet::rehearse(const std::vector<std::int64_t>& rows,
                                              const LossBody& body,
                                              optim::Optimizer* optimizer) {
  for (const Device d : state_->devices)
    logical_device(d).reset_peak();
  step(ranges_of(rows), body, optimizer, {}, Effect::none);
  std::vector<std::size_t> peaks;
  for (const Device d : state_->devices)
    peaks.push_back(logical_device(d).memory_stats().peak);
  return peaks;
}

MemoryModel ReplicaSet::fit_probes(std::int64_t batch_rows,
                                   const LossBody& body,
                                   optim::Optimizer* optimizer) {
  const std::vector<Device>& devices = state_->devices;
  const std::size_t n = devices.size();
  for (std::int64_t most = batch_rows / static_cast<std::int64_t>(n);; most /= 2) {
    const std::int64_t half = most / 2;
    std::vector<std::int64_t> first_half(n, most);
    first_half[0] = half;
    try {
      rehearse(std::vector(n, most), body, optimizer);  // what is made once is there afterwards
      std::vector<MemoryProbe> probes;
      for (const auto& rows : {std::vector(n, half), std::vector(n, most), first_half})
        probes.push_back({rows, rehearse(rows, body, optimizer)});
      return MemoryModel::fit(devices, probes);
    } catch (const ReplicaError& e) {
      if (!is_out_of_memory(e) || half < 2) throw;
    }
  }
}

// A peak is the largest of several moments, each a line in the rows: so the lines of small probes
// are moved to what the planned rows are seen to need.
MemoryModel ReplicaSet::measure(const BatchSize& batch,
                                const LossBody& body,
                                optim::Optimizer* optimizer) {
  const std::size_t n = state_->devices.size();
  TANDEM_CHECK(batch.rows >= 2 * static_cast<std::int64_t>(n),
               "memory model: a batch of ",
               batch.rows,
               " rows on ",
               n,
               " devices is too small to learn from; give two rows for each device, or more");
  std::vector<MemoryNeed> needs = fit_probes(batch.rows, body, optimizer).needs();
  for (std::size_t d = 0; d < n; ++d) {  // the probes had the batch as it is, whatever their rows
    const auto nbytes = static_cast<double>(batch.nbytes[d]);
    needs[d].fixed -= nbytes;
    needs[d].per_batch_row += nbytes / static_cast<double>(batch.rows);
  }
  std::vector<std::int64_t> planned;
  for (int i = 0; i < kCorrections; ++i) {
    try {
      const MemoryPlan plan = MemoryModel(needs).plan(batch.rows);
      if (plan.rows == planned) break;
      planned = plan.rows;
      const std::vector<std::size_t> peaks = rehearse(planned, body, optimizer);
      for (std::size_t d = 0; d < n; ++d)
        needs[d].fixed += static_cast<double>(peaks[d]) - needs[d].peak(planned[d], batch.rows);
    } catch (const InvalidArgument&) {  // it fits in no way
      break;
    } catch (const ReplicaError& e) {
      const auto* full = find_cause<OutOfMemory>(e);
      if (full == nullptr) throw;
      const auto d = static_cast<std::size_t>(e.replica);
      const auto least = static_cast<double>(full->in_use() + full->asked());
      needs[d].fixed += std::max(least - needs[d].peak(planned[d], batch.rows), 1.0);
    }
  }
  return MemoryModel(std::move(needs));
}

}  // namespace tandem::parallel
