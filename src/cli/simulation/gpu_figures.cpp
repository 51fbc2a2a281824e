// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/gpu_figures.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tandem::cli {
namespace {

using profile::Duration;

/// Spans of time, in any order, which may overlap.
class Spans {
 public:
  explicit Spans(const sim::FollowedStep& step) : first_(step.begin), last_(step.end) {}

  /// The part of a span that is in the step.
  Duration part(Duration begin, Duration end) const {
    return std::max(Duration{}, std::min(end, last_) - std::max(begin, first_));
  }
  void add(Duration begin, Duration end) {
    if (part(begin, end) > Duration{})
      spans_.emplace_back(std::max(begin, first_), std::min(end, last_));
  }
  /// How much of the step the spans cover.
  Duration covered() const {
    std::vector<std::pair<Duration, Duration>> sorted = spans_;
    std::ranges::sort(sorted);
    Duration sum{}, until = first_;
    for (const auto& [begin, end] : sorted) {
      if (end > until) sum += end - std::max(begin, until);
      until = std::max(until, end);
    }
    return sum;
  }

 private:
  Duration first_, last_;
  std::vector<std::pair<Duration, Duration>> spans_;
};

}  // namespace

GpuFigures figures_of(const sim::FollowedStep& step, Device device, std::size_t peak) {
  GpuFigures gpu{.peak = peak};
  Spans spans(step);
  for (const profile::WorkSpan& span : step.both.work) {
    if (span.device != device) continue;
    (span.is_collective() ? gpu.exposed : gpu.work) += spans.part(span.begin, span.end);
    spans.add(span.begin, span.end);
  }
  for (const profile::SideSpan& span : step.both.side_work)
    if (span.device == device) gpu.collectives += spans.part(span.begin, span.end);
  const Duration busy = spans.covered();
  for (const profile::Transfer& moved : step.both.transfers)
    if (moved.exchange == 0 && (moved.source == device || moved.destination == device))
      spans.add(moved.begin, moved.end);
  gpu.copies = spans.covered() - busy;
  gpu.idle = step.end - step.begin - busy - gpu.copies;
  return gpu;
}

}  // namespace tandem::cli
