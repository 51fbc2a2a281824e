// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/plan/step_planner.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <string>

#include "tandem/core/check.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/step_memory.hpp"

namespace tandem::parallel {
namespace {

constexpr int kCorrections = 12;   // of a model
constexpr double kTighter = 0.98;  // of its limit, for a device that was full

/// Lines that are moved to what steps of one batch are seen to need.
class Corrections {
 public:
  Corrections(std::vector<DeviceNeed> needs, std::int64_t batch_rows)
      : needs_(std::move(needs)), batch_rows_(batch_rows), too_many_(needs_.size(), kNeverFull) {
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
      if (too_many_[d] == kNeverFull) continue;
      const double full = needs_[d].peak(too_many_[d], batch_rows_);
      needs_[d].limit = std::min(limits_[d], static_cast<std::size_t>(std::max(full - 1, 0.0)));
    }
    StepModel model(needs_);
    model.fit_times(probes);
    return model;
  }
  /// The model in the end: where devices were full, its plan is one that has fitted.
  StepModel end(const std::vector<StepProbe>& probes, PlanGoal goal) {
    const bool was_full =
        std::ranges::any_of(too_many_, [](auto rows) { return rows != kNeverFull; });
    if (was_full && !last_fitting_.empty() && !plans(model(probes), goal)) {
      for (std::size_t d = 0; d < needs_.size(); ++d)
        too_many_[d] = std::min(too_many_[d], last_fitting_[d] + 1);
    }
    return model(probes);
  }

 private:
  static constexpr std::int64_t kNeverFull = std::numeric_limits<std::int64_t>::max();

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

}  // namespace

bool is_out_of_memory(const ReplicaError& error) {
  return find_cause<OutOfMemory>(error) != nullptr;
}

std::vector<RowRange> ranges_of(const std::vector<std::int64_t>& rows) {
  std::vector<RowRange> ranges;
  std::int64_t begin = 0;
  for (const std::int64_t n : rows) {
    ranges.push_back({begin, begin + n});
    begin += n;
  }
  return ranges;
}

std::vector<RowRange> StepPlanner::plan(std::int64_t rows) const {
  return ranges_of(policy_.plan(rows, devices_));
}

bool StepPlanner::is_large_enough(const BatchSize& batch) const {
  return batch.rows >= 2 * static_cast<std::int64_t>(devices_.size());
}

void StepPlanner::learn(const BatchSize& batch, const Rehearse& rehearse) {
  if (policy_.wants_model() && is_large_enough(batch))
    policy_ = ChunkPolicy::planned(measure(batch, rehearse), policy_.goal());
}

void StepPlanner::replan(const BatchSize& batch,
                         const Rehearse& rehearse,
                         const ReplicaError& error) {
  std::vector<DeviceNeed> needs;
  if (const StepModel* model = policy_.model()) {
    needs = model->needs();
    for (DeviceNeed& need : needs) {
      if (need.device != error.device || need.limit == SIZE_MAX) continue;
      need.limit = static_cast<std::size_t>(static_cast<double>(need.limit) * kTighter);
    }
  } else {
    needs = measure(batch, rehearse).needs();
  }
  StepModel next(std::move(needs));
  std::string refusal;
  try {
    next.plan(batch.rows, policy_.goal());
  } catch (const InvalidArgument& e) {
    refusal = e.what();
  }
  // With the error that is being handled nested in it.
  if (!refusal.empty()) std::throw_with_nested(InvalidArgument(refusal));
  policy_ = ChunkPolicy::planned(std::move(next), policy_.goal());
}

void StepPlanner::check_times() const {
  if (policy_.goal() != PlanGoal::least_time) return;
  for (const Device device : devices_)
    TANDEM_CHECK(logical_device(device).has_data(),
                 "chunks planned for time: ",
                 device,
                 " is shape-only and computes nothing, so the times of its steps say nothing; plan "
                 "for the least peak, or give chunk sizes");
}

void StepPlanner::check_memory() const {
  for (const Device device : devices_)
    TANDEM_CHECK(
        !shares_other_memory(logical_device(device)),
        "step model: ",
        device,
        " has a GPU with other devices, and PyTorch's memory there is that of all; plan where "
        "each device has a GPU, or give chunk sizes");
}

std::vector<StepProbe> StepPlanner::probe(std::int64_t batch_rows, const Rehearse& rehearse) const {
  std::vector<std::int64_t> has_room(devices_.size(), 1);  // 0: for no rows
  const auto each = [&](std::int64_t n) {
    std::vector<std::int64_t> rows = has_room;
    for (std::int64_t& r : rows)
      r *= n;
    return rows;
  };
  const auto even = [&] { return batch_rows / std::ranges::count(has_room, 1); };
  for (std::int64_t most = even();;) {
    const std::int64_t half = most / 2;
    std::vector<std::int64_t> first_half = each(most);
    *std::ranges::find(first_half, most) = half;
    try {
      rehearse(each(most));  // what is made once is there afterwards
      std::vector<StepProbe> probes;
      for (const auto& rows : {each(half), each(most), first_half})
        probes.push_back(rehearse(rows));
      return probes;
    } catch (const ReplicaError& e) {
      std::int64_t& full = has_room[static_cast<std::size_t>(e.replica)];
      if (!is_out_of_memory(e)) throw;
      if (half >= 2) {
        most = half;
        continue;
      }
      if (full == 0 || std::ranges::count(has_room, 1) == 1) throw;
      full = 0;
      most = even();
    }
  }
}

// A peak is the largest of several moments, each a line in the rows: so the lines of small probes
// are moved to what the planned rows are seen to need.
StepModel StepPlanner::measure(const BatchSize& batch, const Rehearse& rehearse) const {
  check_times();
  check_memory();
  const std::size_t n = devices_.size();
  TANDEM_CHECK(is_large_enough(batch),
               "step model: a batch of ",
               batch.rows,
               " rows on ",
               n,
               " devices is too small to learn from; give at least two rows for each device");
  std::vector<StepProbe> probes = probe(batch.rows, rehearse);
  std::vector<DeviceNeed> needs = StepModel::fit(devices_, probes).needs();
  for (std::size_t d = 0; d < n; ++d) {  // the probes had the batch as it is, whatever their rows
    const auto nbytes = static_cast<double>(batch.nbytes[d]);
    needs[d].fixed -= nbytes;
    needs[d].per_batch_row += nbytes / static_cast<double>(batch.rows);
  }
  Corrections corrections(std::move(needs), batch.rows);
  std::vector<std::int64_t> planned;
  for (int i = 0; i < kCorrections; ++i) {
    try {
      const StepPlan plan = corrections.model(probes).plan(batch.rows, policy_.goal());
      if (plan.rows == planned) break;
      planned = plan.rows;
      probes.push_back(rehearse(planned));
      corrections.fitted(probes.back());
    } catch (const InvalidArgument&) {  // it fits in no way
      break;
    } catch (const ReplicaError& e) {
      const auto* full = find_cause<OutOfMemory>(e);
      if (full == nullptr) throw;
      corrections.overflowed(static_cast<std::size_t>(e.replica), planned, *full);
    }
  }
  return corrections.end(probes, policy_.goal());
}

std::optional<StepProbe> StepPlanner::try_batch(const BatchSize& batch,
                                                const Rehearse& rehearse) const {
  const bool planned = policy_.wants_model() || policy_.model() != nullptr;
  if (planned) check_times();
  try {
    const auto rows = planned && is_large_enough(batch)
                          ? measure(batch, rehearse).plan(batch.rows, policy_.goal()).rows
                          : policy_.plan(batch.rows, devices_);
    return rehearse(rows);
  } catch (const InvalidArgument&) {  // the model says so
    if (!planned) throw;
    return std::nullopt;
  } catch (const ReplicaError& e) {
    if (!is_out_of_memory(e)) throw;
    return std::nullopt;
  }
}

}  // namespace tandem::parallel
