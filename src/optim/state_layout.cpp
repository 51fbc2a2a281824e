// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "optim/state_layout.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

#include "optim/run_cutter.hpp"

namespace tandem::optim::detail {
namespace {

constexpr double kUnknown = -std::numeric_limits<double>::infinity();

StateTensor make_state(const ParameterRun& run, const StateSpec& spec, DType dtype) {
  const std::int64_t n = run.end - run.begin;
  const std::size_t size = itemsize(dtype);
  std::shared_ptr<const ModuleShares> shares;
  if (const auto arena = run.arena.lock())
    shares = arena->layout().module_shares(run.block, run.begin, run.end, size);
  auto buffer = std::make_shared<Buffer>(
      run.home, static_cast<std::size_t>(n) * size, Category::optimizer, std::move(shares));
  Tensor flat = from_buffer(std::move(buffer), 0, {n}, {1}, dtype);
  flat.fill_(spec.fill);
  return {spec, std::move(flat)};
}

/// Elements [begin, end) of a block, of a flat tensor that starts at element `from` of it.
Tensor range(const Tensor& flat, std::int64_t begin, std::int64_t end, std::int64_t from) {
  return as_strided(flat, {end - begin}, {1}, flat.impl().offset + begin - from);
}

/// A parameter's state in its shape. @param flat  of a run that holds all of it.
Tensor whole_state(const ParameterRun& run, const ArenaPlace& at, const Tensor& flat) {
  return as_strided(flat, at.shape, at.strides, at.offset - run.begin);
}

}  // namespace

const StateTensor* ParameterRun::find(const std::string& name) const noexcept {
  const auto at = std::ranges::find_if(
      state, [&name](const StateTensor& tensor) { return tensor.spec.name == name; });
  return at == state.end() ? nullptr : &*at;
}

std::pair<std::int64_t, std::int64_t> ParameterRun::part_of(const ArenaPlace& at) const noexcept {
  return {std::max(begin, at.offset), std::min(end, at.offset + at.extent)};
}

bool ParameterRun::has_all_of(const ArenaPlace& at) const noexcept {
  return part_of(at) == std::pair(at.offset, at.offset + at.extent);
}

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
      const bool has_gradient =
          m.tensor.requires_grad() || autograd::stored_gradient(m.tensor).defined();
      // Where several devices update, their wrapper lays out what trains.
      if (has_gradient && arena->sharing() == nullptr && !arena->grads(at.block).defined())
        arena->ensure_gradients();
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
    if (arena != m.arena.lock() || arena->place_of(m.tensor) != m.place) return true;
    const auto sharing = arena->sharing();
    return sharing.owner_before(m.sharing) || m.sharing.owner_before(sharing);
  });
}

void StateLayout::refresh(Granularity granularity) {
  bind_loose();
  if (!runs_.empty() && granularity == granularity_ && !moved()) return;
  granularity_ = granularity;
  rebuild();
}

std::shared_ptr<ArenaSharing> StateLayout::sharing_of(const Arena& arena) const {
  auto sharing = arena.sharing();
  const bool any_part =
      granularity_ == Granularity::element || arena.layout().keeps_tensors_whole();
  const bool takes_part =
      sharing != nullptr && (any_part || sharing->parts() == ArenaSharing::Parts::copies);
  return takes_part ? sharing : nullptr;
}

std::vector<ArenaSlice> StateLayout::slices_of(const Arena& arena) const {
  return sharing_of(arena) != nullptr ? arena.slices() : arena.whole_slices();
}

void StateLayout::rebuild() {
  StateLayout fresh(*this);
  fresh.runs_.clear();
  for (Member& m : fresh.members_)
    m.runs.clear();
  std::vector<std::shared_ptr<Arena>> arenas;
  for (const Member& m : members_) {
    auto arena = Arena::of(m.tensor);
    if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end())
      arenas.push_back(std::move(arena));
  }
  RunCutter cutter(fresh.members_, fresh.runs_);
  for (const auto& arena : arenas)
    cutter.cut(arena, slices_of(*arena));

  // State follows its parameter, whatever stands next to it now.
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (members_[m].runs.empty()) continue;
    const ParameterRun& old = runs_[members_[m].runs.front()];
    for (const StateTensor& from : old.state) {
      const Tensor value = state(members_[m], from.spec.name);
      if (!value.defined()) continue;
      for (const std::size_t s : fresh.members_[m].runs) {
        ParameterRun& to = fresh.runs_[s];
        const DType dtype = from.flat.dtype() == old.dtype ? to.dtype : from.flat.dtype();
        if (to.find(from.spec.name) == nullptr)
          to.state.push_back(make_state(to, from.spec, dtype));
      }
      fresh.set_state(fresh.members_[m], from.spec.name, flat_state(fresh.members_[m], value));
    }
  }
  *this = std::move(fresh);
}

std::vector<std::shared_ptr<ArenaSharing>> StateLayout::sharings() const {
  std::vector<std::shared_ptr<ArenaSharing>> sharings;
  for (const Member& m : members_) {
    const auto arena = m.arena.lock();
    auto sharing = arena == nullptr ? nullptr : sharing_of(*arena);
    if (sharing != nullptr &&
        std::find(sharings.begin(), sharings.end(), sharing) == sharings.end())
      sharings.push_back(std::move(sharing));
  }
  return sharings;
}

void StateLayout::settle_gradients() {
  for (const Member& m : members_) {
    const std::shared_ptr<Arena> arena = m.arena.lock();
    const Tensor grad =
        sharing_of(*arena) != nullptr ? autograd::stored_gradient(m.tensor) : m.tensor.grad();
    TANDEM_CHECK(!grad.defined() || arena->grads(m.at.block).defined(),
                 "optimizer: '",
                 m.name,
                 "' has a gradient, and did not train when its wrapper was called last; call the "
                 "wrapper after a parameter was unfrozen or given a gradient, before this step");
    // A gradient that is on the tape itself (create_graph) has storage of its own.
    if (grad.defined() && &grad.buffer() != &arena->grads(m.at.block).buffer())
      arena->gradient(m.place).copy_(m.tensor.grad().detach());
  }
  for (const auto& sharing : sharings())
    sharing->share_gradients();
}

std::vector<RunUpdate> StateLayout::updates() const {
  std::vector<RunUpdate> updates;
  for (std::size_t s = 0; s < runs_.size(); ++s) {
    const ParameterRun& run = runs_[s];
    bool open = false;
    for (std::size_t i = 0; i < run.members.size(); ++i) {
      const Member& m = members_[run.members[i]];
      if (!autograd::stored_gradient(m.tensor).defined()) {
        open = false;
        continue;
      }
      const bool joins = open && granularity_ == Granularity::element &&
                         members_[run.members[updates.back().first]].steps == m.steps &&
                         members_[run.members[updates.back().first]].numbers == m.numbers;
      if (!joins) updates.push_back({s, i, i, m.steps + 1, run.device});
      updates.back().last = i + 1;
      open = true;
    }
  }
  std::map<const Arena*, std::vector<ArenaSlice>> slices;
  for (RunUpdate& update : updates) {
    const auto arena = runs_[update.run].arena.lock();
    const auto [at, is_new] = slices.try_emplace(arena.get());
    if (is_new) at->second = slices_of(*arena);
    update.slice = slice_of(update, at->second);
  }
  return updates;
}

UpdateSlice StateLayout::slice_of(const RunUpdate& update,
                                  const std::vector<ArenaSlice>& slices) const {
  const ParameterRun& run = runs_[update.run];
  const Member& first = members_[run.members[update.first]];
  const Member& last = members_[run.members[update.last - 1]];
  const ArenaSlice& slice = slices[run.slice];
  if (granularity_ == Granularity::tensor) {
    const ArenaPlace& at = first.at;
    const auto whole = [&](const Tensor& flat) {
      return as_strided(flat, at.shape, at.strides, flat.impl().offset + at.offset - slice.begin);
    };
    return {whole(slice.params), whole(slice.grads), {}, first.numbers};
  }
  const std::int64_t begin = run.part_of(first.at).first, end = run.part_of(last.at).second;
  return {range(slice.params, begin, end, slice.begin),
          range(slice.grads, begin, end, slice.begin),
          {},
          first.numbers};
}

void StateLayout::allocate(const Specs& specs, const std::vector<bool>& wanted) {
  std::vector<std::pair<ParameterRun*, StateTensor>> fresh;
  for (std::size_t s = 0; s < runs_.size(); ++s) {
    if (!wanted[s]) continue;
    for (const StateSpec& spec : specs[runs_[s].group]) {
      if (runs_[s].find(spec.name) != nullptr) continue;
      fresh.emplace_back(&runs_[s],
                         make_state(runs_[s], spec, spec.dtype.value_or(runs_[s].dtype)));
    }
  }
  for (auto& [run, state] : fresh)
    run->state.push_back(std::move(state));
}

void StateLayout::attach_state(std::vector<RunUpdate>& updates, const Specs& specs) const {
  for (RunUpdate& update : updates) {
    const ParameterRun& run = runs_[update.run];
    const Member& first = members_[run.members[update.first]];
    const Member& last = members_[run.members[update.last - 1]];
    for (const StateSpec& spec : specs[run.group]) {
      const Tensor& flat = run.find(spec.name)->flat;
      if (granularity_ == Granularity::tensor) {
        update.slice.state.push_back(whole_state(run, first.at, flat));
      } else {
        update.slice.state.push_back(
            range(flat, run.part_of(first.at).first, run.part_of(last.at).second, run.begin));
      }
    }
  }
}

void StateLayout::start_numbers(const std::vector<double>& numbers) {
  for (Member& m : members_)
    if (m.numbers.empty()) m.numbers = numbers;
}

void StateLayout::count_steps(const std::vector<RunUpdate>& updates) noexcept {
  for (const RunUpdate& update : updates) {
    const std::vector<std::size_t>& members = runs_[update.run].members;
    for (std::size_t i = update.first; i < update.last; ++i) {
      Member& m = members_[members[i]];
      m.steps = update.t;
      std::ranges::copy(update.slice.numbers, m.numbers.begin());  // as many: allocates nothing
    }
  }
}

Tensor StateLayout::state(const Member& member, const std::string& name) const {
  const ArenaPlace& at = member.at;
  const auto ranks = ranks_of(member);
  const TensorOptions options{.dtype = updated_dtype(member), .device = member.tensor.device()};
  Tensor flat;  // of the parameter's place
  if (ranks != nullptr && member.steps > 0) flat = zeros({at.extent}, options);
  for (const std::size_t s : member.runs) {
    const ParameterRun& run = runs_[s];
    const StateTensor* found = run.find(name);
    if (found == nullptr) return {};
    // If there are several copies, the one on the parameter's own device comes first.
    if (run.has_all_of(at) && ranks == nullptr) return whole_state(run, at, found->flat);
    if (!flat.defined())
      flat = zeros({at.extent}, {.dtype = found->flat.dtype(), .device = options.device});
    const auto [begin, end] = run.part_of(at);
    range(flat, begin, end, at.offset).copy_(range(found->flat, begin, end, run.begin));
  }
  if (flat.defined() && ranks != nullptr) ranks->all_reduce(flat, ArenaSharing::OverRanks::sum);
  return flat.defined() ? as_strided(flat, at.shape, at.strides, 0) : flat;
}

DType StateLayout::updated_dtype(const Member& member) {
  if (const auto ranks = ranks_of(member))
    for (const ArenaSlice& slice : ranks->slices())
      if (slice.block == member.at.block) return slice.params.dtype();
  return member.tensor.dtype();
}

std::shared_ptr<ArenaSharing> StateLayout::ranks_of(const Member& member) {
  auto sharing = member.sharing.lock();
  const bool by_ranks = sharing != nullptr && sharing->parts() == ArenaSharing::Parts::ranks;
  return by_ranks ? sharing : nullptr;
}

// A rank that has some elements of a parameter knows its steps and numbers; those that know are
// above those that do not.
void StateLayout::learn_steps() {
  std::map<std::shared_ptr<ArenaSharing>, std::vector<Member*>> by_ranks;
  std::size_t numbers = 0;
  for (Member& m : members_) {
    if (auto ranks = ranks_of(m)) by_ranks[std::move(ranks)].push_back(&m);
    numbers = std::max(numbers, m.numbers.size());
  }
  for (const auto& [ranks, members] : by_ranks) {
    std::vector<double> known(members.size() * (1 + numbers), kUnknown);
    auto at = known.begin();
    for (const Member* m : members) {
      if (!m->runs.empty()) {
        *at = static_cast<double>(m->steps);
        std::ranges::copy(m->numbers, at + 1);
      }
      at += 1 + static_cast<std::ptrdiff_t>(numbers);
    }
    const Tensor shared = from_host(std::span<const double>(known),
                                    {static_cast<std::int64_t>(known.size())},
                                    members.front()->tensor.device());
    ranks->all_reduce(shared, ArenaSharing::OverRanks::max);
    known = shared.to_doubles();
    at = known.begin();
    for (Member* m : members) {
      m->steps = static_cast<std::int64_t>(*at);
      m->numbers.assign(at + 1, at + 1 + static_cast<std::ptrdiff_t>(numbers));
      at += 1 + static_cast<std::ptrdiff_t>(numbers);
    }
  }
}

Tensor StateLayout::flat_state(const Member& member, const Tensor& value) {
  const ArenaPlace& at = member.at;
  const std::int64_t n = numel(at.shape);
  if (value.strides() == at.strides) return as_strided(value, {n}, {1}, value.impl().offset);
  const Tensor flat = zeros({n}, {.dtype = value.dtype(), .device = value.device()});
  as_strided(flat, at.shape, at.strides, 0).copy_(value);
  return flat;
}

void StateLayout::set_state(const Member& member, const std::string& name, const Tensor& flat) {
  const ArenaPlace& at = member.at;
  for (const std::size_t s : member.runs) {
    const ParameterRun& run = runs_[s];
    const auto [begin, most] = run.part_of(at);
    const std::int64_t end = std::min(most, at.offset + flat.numel());
    if (begin >= end) continue;
    range(run.find(name)->flat, begin, end, run.begin)
        .copy_(as_strided(flat, {end - begin}, {1}, flat.impl().offset + begin - at.offset));
  }
}

void StateLayout::fill_state(const Member& member, const StateSpec& spec) {
  for (const std::size_t s : member.runs) {
    const StateTensor* found = runs_[s].find(spec.name);
    if (found == nullptr) continue;
    const auto [begin, end] = runs_[s].part_of(member.at);
    range(found->flat, begin, end, runs_[s].begin).fill_(spec.fill);
  }
}

}  // namespace tandem::optim::detail
