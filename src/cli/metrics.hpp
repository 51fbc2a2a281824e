// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/train/loop.hpp"
#include "tandem/train/metrics.hpp"

#include "cli/options.hpp"

namespace tandem::cli {

/// The numbers of a run, to where its options say.
class RunMetrics {
 public:
  /// @throws UsageError  --metrics names a file of another kind. @throws FileError
  explicit RunMetrics(const RunOptions& options);

  void step(const train::StepInfo& info);
  /// @param steps  updates so far.
  void epoch(const train::EpochInfo& info, std::int64_t steps, const std::vector<Device>& devices);

 private:
  void add(std::string_view tag, double value, std::int64_t step);

  std::vector<std::unique_ptr<train::MetricsWriter>> writers_;
};

}  // namespace tandem::cli
