// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/train/loop.hpp"
#include "tandem/train/metrics.hpp"

#include "cli/choices/metrics_choice.hpp"

namespace tandem::cli {

/// Writes the numbers of a run to the files that its options name.
class RunMetrics {
 public:
  /// @param append     yes: the run goes on, and so do its files.
  /// @param last_step  step after which the run goes on; lines of later steps are cut off.
  /// @param on_loss    is told why a file can no longer be written; the run goes on without it.
  /// @throws FileError  one of them cannot be written.
  RunMetrics(const MetricsChoice& choice,
             training::Append append,
             std::int64_t last_step,
             std::function<void(const std::string&)> on_loss);

  void step(const training::StepInfo& info);
  /// @param steps  updates so far.
  void epoch(const training::EpochInfo& info,
             std::int64_t steps,
             const std::vector<Device>& devices);
  /// Whether all numbers were written.
  bool is_complete() const noexcept { return is_complete_; }

 private:
  void add(std::string_view tag, double value, std::int64_t step);

  std::vector<std::unique_ptr<training::MetricsWriter>> writers_;
  std::function<void(const std::string&)> on_loss_;
  bool is_complete_ = true;
};

}  // namespace tandem::cli
