// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/run_cutter.hpp"

#include <algorithm>
#include <cstdint>

namespace tandem::optim::detail {

void RunCutter::cut(const std::shared_ptr<Arena>& arena, const std::vector<ArenaSlice>& slices) {
  std::map<std::size_t, std::size_t> taken;  // place -> member
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (Arena::of(members_[m].tensor) != arena) continue;
    const std::size_t place = *arena->place_of(members_[m].tensor);
    taken[place] = m;
    members_[m].arena = arena;
    members_[m].sharing = arena->sharing();
    members_[m].place = place;
    members_[m].at = arena->layout().places()[place];
  }
  for (std::size_t i = 0; i < slices.size(); ++i)
    cut_slice(arena, slices[i], i, taken);
}

void RunCutter::cut_slice(const std::shared_ptr<Arena>& arena,
                          const ArenaSlice& slice,
                          std::size_t index,
                          const std::map<std::size_t, std::size_t>& taken) {
  const auto& places = arena->layout().places();
  bool open = false;
  for (std::size_t p = 0; p < places.size(); ++p) {
    const ArenaPlace& at = places[p];
    const std::int64_t begin = std::max(slice.begin, at.offset);
    const std::int64_t end = std::min(slice.end, at.offset + at.extent);
    if (at.block != slice.block || begin > end || (begin == end && at.extent > 0)) continue;
    const auto member = taken.find(p);
    if (member == taken.end()) {
      open = false;
      continue;
    }
    Member& m = members_[member->second];
    if (!open || runs_.back().group != m.group) {
      runs_.push_back({arena,
                       index,
                       slice.device,
                       slice.block,
                       slice.params.dtype(),
                       m.group,
                       begin,
                       begin,
                       {},
                       {}});
    }
    open = true;
    runs_.back().end = end;
    runs_.back().members.push_back(member->second);
    m.runs.push_back(runs_.size() - 1);
  }
}

}  // namespace tandem::optim::detail
