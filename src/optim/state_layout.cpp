// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::optim::detail {
namespace {

StateTensor make_state(const Segment& segment, const StateSpec& spec, DType dtype) {
  const std::int64_t n = segment.end - segment.begin;
  auto buffer = std::make_shared<Buffer>(
      segment.device, static_cast<std::size_t>(n) * itemsize(dtype), Category::optimizer);
  Tensor flat = from_buffer(std::move(buffer), 0, {n}, {1}, dtype);
  flat.fill_(spec.fill);
  return {spec, std::move(flat)};
}

const StateTensor* find(const Segment& segment, const std::string& name) {
  const auto at = std::find_if(segment.state.begin(),
                               segment.state.end(),
                               [&](const StateTensor& s) { return s.spec.name == name; });
  return at == segment.state.end() ? nullptr : &*at;
}

/// Elements [begin, end) of a block, of a flat tensor that starts at element `from` of it.
Tensor range(const Tensor& flat, std::int64_t begin, std::int64_t end, std::int64_t from) {
  return as_strided(flat, {end - begin}, {1}, flat.impl().offset + begin - from);
}

/// The places of `arena` that members take, as segments; sets their `segment` and place.
class Cutter {
 public:
  Cutter(std::vector<Member>& members, std::vector<Segment>& segments)
      : members_(members), segments_(segments) {}

  void cut(const std::shared_ptr<Arena>& arena) {
    std::map<std::size_t, std::size_t> taken;  // place -> member
    for (std::size_t m = 0; m < members_.size(); ++m) {
      if (Arena::of(members_[m].tensor) == arena) taken[*arena->place_of(members_[m].tensor)] = m;
    }
    const auto& places = arena->layout().places();
    for (const ArenaSlice& slice : arena->slices()) {
      bool open = false;
      for (std::size_t p = 0; p < places.size(); ++p) {
        const ArenaPlace& at = places[p];
        if (at.block != slice.block || at.offset < slice.begin || at.offset + at.extent > slice.end)
          continue;
        const auto member = taken.find(p);
        if (member == taken.end()) {
          open = false;
          continue;
        }
        Member& m = members_[member->second];
        if (!open || segments_.back().group != m.group) open_segment(arena, slice, at, m.group);
        open = true;
        segments_.back().end = at.offset + at.extent;
        segments_.back().members.push_back(member->second);
        m.arena = arena;
        m.place = p;
        m.at = at;
        m.segment = segments_.size() - 1;
      }
    }
  }

 private:
  void open_segment(const std::shared_ptr<Arena>& arena,
                    const ArenaSlice& slice,
                    const ArenaPlace& at,
                    std::size_t group) {
    segments_.push_back({arena,
                         slice.device,
                         slice.block,
                         slice.params.dtype(),
                         group,
                         at.offset,
                         at.offset,
                         {},
                         {}});
  }

  std::vector<Member>& members_;
  std::vector<Segment>& segments_;
};

}  // namespace

StateLayout::StateLayout(const std::vector<ParamGroup>& groups) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const NamedParameter& p : groups[g].params()) {
      Member member;
      member.name = p.name;
      member.tensor = p.tensor;
      member.group = g;
      members_.push_back(std::move(member));
    }
  }
}

void StateLayout::bind_loose() const {
  std::map<Device, std::vector<ArenaEntry>> loose;
  for (const Member& m : members_) {
    if (const auto arena = Arena::of(m.tensor)) {
      const ArenaPlace& at = arena->layout().places()[*arena->place_of(m.tensor)];
      if (m.tensor.requires_grad() && !arena->grads(at.block).defined()) arena->ensure_gradients();
    } else {
      loose[m.tensor.device()].push_back({m.name, m.tensor, static_cast<int>(m.group)});
    }
  }
  for (const auto& [device, entries] : loose)
    Arena::bind(entries);
}

bool StateLayout::moved() const {
  return std::any_of(members_.begin(), members_.end(), [](const Member& m) {
    const auto arena = Arena::of(m.tensor);
    return arena != m.arena.lock() || arena->place_of(m.tensor) != m.place;
  });
}

void StateLayout::refresh() {
  bind_loose();
  if (segments_.empty() || moved()) rebuild();
}

void StateLayout::rebuild() {
  std::vector<Member> members = members_;
  std::vector<Segment> segments;
  std::vector<std::shared_ptr<Arena>> arenas;
  for (const Member& m : members) {
    auto arena = Arena::of(m.tensor);
    if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end())
      arenas.push_back(std::move(arena));
  }
  Cutter cutter(members, segments);
  for (const auto& arena : arenas)
    cutter.cut(arena);

  // State follows its parameter, whatever stands next to it now.
  for (Segment& fresh : segments) {
    for (const std::size_t m : fresh.members) {
      if (segments_.empty()) break;
      const Segment& old = segments_[members_[m].segment];
      for (const StateTensor& from : old.state) {
        if (find(fresh, from.spec.name) == nullptr) {
          const DType dtype = from.flat.dtype() == old.dtype ? fresh.dtype : from.flat.dtype();
          fresh.state.push_back(make_state(fresh, from.spec, dtype));
        }
        const ArenaPlace& at = members[m].at;
        const Tensor& to = find(fresh, from.spec.name)->flat;
        as_strided(to, at.shape, at.strides, at.offset - fresh.begin)
            .copy_(state(members_[m], from.spec.name));
      }
    }
  }
  members_ = std::move(members);
  segments_ = std::move(segments);
}

std::vector<Run> StateLayout::runs(Granularity granularity) const {
  std::vector<Run> runs;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    const Segment& segment = segments_[s];
    const std::shared_ptr<Arena> arena = segment.arena.lock();
    bool open = false;
    for (std::size_t i = 0; i < segment.members.size(); ++i) {
      const Member& m = members_[segment.members[i]];
      const Tensor grad = m.tensor.grad();
      if (!grad.defined()) {
        open = false;
        continue;
      }
      // A gradient that is on the tape itself (create_graph) has storage of its own.
      if (&grad.buffer() != &arena->grads(segment.block).buffer())
        arena->gradient(m.place).copy_(grad.detach());
      if (!open || granularity == Granularity::tensor || runs.back().t != m.steps + 1) {
        runs.push_back({s, i, i, m.steps + 1, {}});
      }
      runs.back().last = i + 1;
      open = true;
    }
  }
  for (Run& run : runs) {
    const Segment& segment = segments_[run.segment];
    const std::shared_ptr<Arena> arena = segment.arena.lock();
    const Member& first = members_[segment.members[run.first]];
    const Member& last = members_[segment.members[run.last - 1]];
    if (granularity == Granularity::tensor) {
      run.slice = {first.tensor.detach(), arena->gradient(first.place), {}};
    } else {
      const std::int64_t begin = first.at.offset, end = last.at.offset + last.at.extent;
      run.slice = {range(arena->params(segment.block), begin, end, 0),
                   range(arena->grads(segment.block), begin, end, 0),
                   {}};
    }
  }
  return runs;
}

void StateLayout::allocate(const Specs& specs, const std::vector<bool>& wanted) {
  std::vector<std::pair<Segment*, StateTensor>> fresh;
  for (std::size_t s = 0; s < segments_.size(); ++s) {
    if (!wanted[s]) continue;
    for (const StateSpec& spec : specs[segments_[s].group]) {
      if (find(segments_[s], spec.name) != nullptr) continue;
      fresh.emplace_back(&segments_[s],
                         make_state(segments_[s], spec, spec.dtype.value_or(segments_[s].dtype)));
    }
  }
  for (auto& [segment, state] : fresh)
    segment->state.push_back(std::move(state));
}

void StateLayout::attach_state(std::vector<Run>& runs,
                               const Specs& specs,
                               Granularity granularity) const {
  for (Run& run : runs) {
    const Segment& segment = segments_[run.segment];
    const Member& first = members_[segment.members[run.first]];
    const Member& last = members_[segment.members[run.last - 1]];
    for (const StateSpec& spec : specs[segment.group]) {
      if (granularity == Granularity::tensor) {
        run.slice.state.push_back(state(first, spec.name));
      } else {
        run.slice.state.push_back(range(find(segment, spec.name)->flat,
                                        first.at.offset,
                                        last.at.offset + last.at.extent,
                                        segment.begin));
      }
    }
  }
}

void StateLayout::count_steps(const std::vector<Run>& runs) noexcept {
  for (const Run& run : runs) {
    const std::vector<std::size_t>& members = segments_[run.segment].members;
    for (std::size_t i = run.first; i < run.last; ++i)
      members_[members[i]].steps = run.t;
  }
}

Tensor StateLayout::state(const Member& member, const std::string& name) const {
  const Segment& segment = segments_[member.segment];
  const StateTensor* found = find(segment, name);
  if (found == nullptr) return {};
  return as_strided(
      found->flat, member.at.shape, member.at.strides, member.at.offset - segment.begin);
}

}  // namespace tandem::optim::detail
