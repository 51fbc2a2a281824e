// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Steps whose rows are planned by what the devices need: measured by steps without effect, and
// planned anew where a device is full.

#include <algorithm>
#include <exception>
#include <limits>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "parallel/replica_state.hpp"

namespace tandem::parallel {
namespace {

constexpr int kCorrections = 12;  // of a model
constexpr int kReplans = 8;       // of one step; each takes less of a device that was full
constexpr double kLess = 0.98;    // of its limit

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

/// Lines that are moved to what steps of one batch are seen to need.
class Corrections {
 public:
  Corrections(std::vector<DeviceNeed> needs, std::int64_t batch_rows)
      : needs_(std::move(needs)), batch_rows_(batch_rows), too_many_(needs_.size(), kNone) {
    for (const DeviceNeed& need : needs_)
      limits_.push_back(need.limit);
  }

  /// A step has had what it needed.
  void fitted(const StepProbe& step) {
    for (std::size_t d = 0; d < needs_.size(); ++d) {
      const double peak = needs_[d].peak(step.rows[d], batch_rows_);
      needs_[d].fixed += static_cast<double>(step.peak_bytes[d]) - peak;
    }
    last_fitting_ = step.rows;
  }
  /// The device was full in a step of these rows, and is with as many in any other.
  void overflowed(std::size_t d, const std::vector<std::int64_t>& rows, const OutOfMemory& error) {
    const auto least = static_cast<double>(error.in_use() + error.asked());
    needs_[d].fixed += std::max(least - needs_[d].peak(rows[d], batch_rows_), 1.0);
    too_many_[d] = std::min(too_many_[d], rows[d]);
  }
  StepModel model(const std::vector<StepProbe>& probes) {
    for (std::size_t d = 0; d < needs_.size(); ++d) {
      if (too_many_[d] == kNone) continue;
      const double full = needs_[d].peak(too_many_[d], batch_rows_);
      needs_[d].limit = std::min(limits_[d], static_cast<std::size_t>(std::max(full - 1, 0.0)));
    }
    StepModel model(needs_);
    model.fit_times(probes);
    return model;
  }
  /// The model in the end: where devices were full, its plan is one that has fitted.
  StepModel end(const std::vector<StepProbe>& probes, PlanGoal goal) {
    const bool was_full = std::ranges::any_of(too_many_, [](auto rows) { return rows != kNone; });
    if (was_full && !last_fitting_.empty() && !plans(model(probes), goal)) {
      for (std::size_t d = 0; d < needs_.size(); ++d)
        too_many_[d] = std::min(too_many_[d], last_fitting_[d] + 1);
    }
    return model(probes);
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  /// The model gives the batch the rows that have fitted.
  bool plans(const StepModel& model, PlanGoal goal) const {
    try {
      return model.plan(batch_rows_, goal).rows == last_fitting_;
    } catch (const InvalidArgument&) {
      return false;
    }
  }

  std::vector<DeviceNeed> needs_;
  std::int64_t batch_rows_;
  std::vector<std::size_t> limits_;     // of the devices
  std::vector<std::int64_t> too_many_;  // rows with which a device was full
  std::vector<std::int64_t> last_fitting_;
};

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
    state.policy = ChunkPolicy::planned(measure(batch, body, optimizer), state.policy.goal());
  for (int replans = 0;; ++replans) {
    try {
      return step(plan(batch.rows),
                  body,
                  optimizer,
                  step_options,
                  std::make_shared<StepOutcome>(),
                  Effect::real);
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
  std::vector<DeviceNeed> needs;
  if (const StepModel* model = state.policy.model()) {
    needs = model->needs();
    for (DeviceNeed& need : needs) {
      if (need.device != error.device || need.limit == SIZE_MAX) continue;
      need.limit = static_cast<std::size_t>(static_cast<double>(need.limit) * kLess);
    }
  } else {
    needs = measure(batch, body, optimizer).needs();
  }
  StepModel next(std::move(needs));
  std::string refusal;
  try {
    next.plan(batch.rows, state.policy.goal());
  } catch (const InvalidArgument& e) {
    refusal = e.what();
  }
  // With the error that is being handled nested in it.
  if (!refusal.empty()) std::throw_with_nested(InvalidArgument(refusal));
  state.policy = ChunkPolicy::planned(std::move(next), state.policy.goal());
}

StepProbe ReplicaSet::rehearse(const std::vector<std::int64_t>& rows,
                               const LossBody& body,
                               optim::Optimizer* optimizer) {
  for (const Device d : state_->devices)
    logical_device(d).reset_peak();
  const auto outcome = std::make_shared<StepOutcome>();
  step(ranges_of(rows), body, optimizer, {}, outcome, Effect::none);
  StepProbe probe{.rows = rows, .peak_bytes = {}};
  for (std::size_t d = 0; d < rows.size(); ++d) {
    probe.peak_bytes.push_back(logical_device(state_->devices[d]).memory_stats().peak);
    probe.ms.push_back(std::chrono::duration<double, std::milli>(outcome->work_times[d]).count());
  }
  return probe;
}

std::vector<StepProbe> ReplicaSet::probe(std::int64_t batch_rows,
                                         const LossBody& body,
                                         optim::Optimizer* optimizer) {
  const std::size_t n = state_->devices.size();
  for (std::int64_t most = batch_rows / static_cast<std::int64_t>(n);; most /= 2) {
    const std::int64_t half = most / 2;
    std::vector<std::int64_t> first_half(n, most);
    first_half[0] = half;
    try {
      rehearse(std::vector(n, most), body, optimizer);  // what is made once is there afterwards
      std::vector<StepProbe> probes;
      for (const auto& rows : {std::vector(n, half), std::vector(n, most), first_half})
        probes.push_back(rehearse(rows, body, optimizer));
      return probes;
    } catch (const ReplicaError& e) {
      if (!is_out_of_memory(e) || half < 2) throw;
    }
  }
}

// A peak is the largest of several moments, each a line in the rows: so the lines of small probes
// are moved to what the planned rows are seen to need.
StepModel ReplicaSet::measure(const BatchSize& batch,
                              const LossBody& body,
                              optim::Optimizer* optimizer) {
  const std::size_t n = state_->devices.size();
  TANDEM_CHECK(batch.rows >= 2 * static_cast<std::int64_t>(n),
               "step model: a batch of ",
               batch.rows,
               " rows on ",
               n,
               " devices is too small to learn from; give two rows for each device, or more");
  std::vector<StepProbe> probes = probe(batch.rows, body, optimizer);
  std::vector<DeviceNeed> needs = StepModel::fit(state_->devices, probes).needs();
  for (std::size_t d = 0; d < n; ++d) {  // the probes had the batch as it is, whatever their rows
    const auto nbytes = static_cast<double>(batch.nbytes[d]);
    needs[d].fixed -= nbytes;
    needs[d].per_batch_row += nbytes / static_cast<double>(batch.rows);
  }
  Corrections corrections(std::move(needs), batch.rows);
  std::vector<std::int64_t> planned;
  for (int i = 0; i < kCorrections; ++i) {
    try {
      const StepPlan plan = corrections.model(probes).plan(batch.rows, state_->policy.goal());
      if (plan.rows == planned) break;
      planned = plan.rows;
      probes.push_back(rehearse(planned, body, optimizer));
      corrections.fitted(probes.back());
    } catch (const InvalidArgument&) {  // it fits in no way
      break;
    } catch (const ReplicaError& e) {
      const auto* full = find_cause<OutOfMemory>(e);
      if (full == nullptr) throw;
      corrections.overflowed(static_cast<std::size_t>(e.replica), planned, *full);
    }
  }
  return corrections.end(probes, state_->policy.goal());
}

std::optional<StepProbe> ReplicaSet::try_batch(const BatchSize& batch,
                                               const LossBody& body,
                                               optim::Optimizer* optimizer) {
  const ChunkPolicy& policy = state_->policy;
  const auto n = static_cast<std::int64_t>(state_->devices.size());
  const bool planned = policy.wants_model() || policy.model() != nullptr;
  try {
    const auto rows = planned && batch.rows >= 2 * n
                          ? measure(batch, body, optimizer).plan(batch.rows, policy.goal()).rows
                          : policy.plan(batch.rows, state_->devices);
    return rehearse(rows, body, optimizer);
  } catch (const InvalidArgument&) {  // the model says so
    if (!planned) throw;
    return std::nullopt;
  } catch (const ReplicaError& e) {
    if (!is_out_of_memory(e)) throw;
    return std::nullopt;
  }
}

}  // namespace tandem::parallel
