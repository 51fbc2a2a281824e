// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/overlap.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "profile/spans.hpp"

namespace tandem::profile {

Overlap overlap(const StepRecord& record,
                const std::function<bool(const WorkSpan&)>& counts,
                const std::function<bool(const Transfer&)>& travels) {
  std::vector<Span> transfers, work;
  for (const Transfer& t : record.transfers)
    if (!travels || travels(t)) transfers.push_back({t.begin, t.end});
  for (const WorkSpan& w : record.work)
    if (counts(w)) work.push_back({w.begin, w.end});
  transfers = merged(std::move(transfers));
  work = merged(std::move(work));
  Overlap result;
  auto next = work.begin();
  for (const Span& t : transfers) {
    result.transferring += t.end - t.begin;
    while (next != work.end() && next->end <= t.begin)
      ++next;
    for (auto w = next; w != work.end() && w->begin < t.end; ++w)
      result.hidden += std::min(w->end, t.end) - std::max(w->begin, t.begin);
  }
  return result;
}

}  // namespace tandem::profile
