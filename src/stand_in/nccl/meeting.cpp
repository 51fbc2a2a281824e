// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/meeting.hpp"

#include <cstring>
#include <utility>

#include "stand_in/nccl/reduction.hpp"

namespace tandem::stand_in {
namespace {

using Marks = std::vector<std::shared_ptr<Mark>>;

struct Meeting {
  std::vector<RankPart> places;
  std::size_t ranks;
  bool hangs, damages;
  Marks here = {}, read = {}, ends = {};  // by place
  std::size_t launched = 0;               // places
  std::vector<std::byte> result = {};     // once one has read what all give
};

void reduce(Machine& m, Meeting& all) {
  const Part& one = all.places.front().part;
  std::vector<Given> given;
  for (const auto& [rank, part] : all.places) {
    const void* factor = nullptr;
    if (part.factor != nullptr)
      factor = part.factor->in_memory != nullptr ? m.memory.host(part.factor->in_memory)
                                                 : &part.factor->bits;
    given.push_back({m.memory.host(part.from), factor});
  }
  all.result.resize(one.read_bytes(all.places.front().rank, all.ranks));
  reduce_elements(
      one.type, one.op, given, all.result.data(), all.result.size() / nccl_size(one.type));
}

void read(Machine& m, Meeting& all) {
  if (!all.result.empty()) return;
  if (all.places.front().part.is_reduction()) {
    reduce(m, all);
  } else {
    for (const auto& [rank, part] : all.places) {
      const auto* const from = static_cast<const std::byte*>(m.memory.host(part.from));
      all.result.insert(all.result.end(), from, from + part.read_bytes(rank, all.ranks));
    }
  }
  if (all.damages && !all.result.empty()) all.result[all.result.size() / 2] ^= std::byte{1};
}

void write(Machine& m, const Meeting& all, const RankPart& place) {
  const auto& [rank, part] = place;
  const std::size_t n = part.written_bytes(rank, all.ranks);
  const bool scatters = part.kind == Part::Kind::reduce_scatter;
  if (n > 0 && !all.result.empty())
    std::memcpy(m.memory.host(part.to), all.result.data() + (scatters ? rank * n : 0), n);
}

/// What the place reads comes before the end of all, and what it writes before that of its own.
void use_memory(Machine& m, Meeting& all, std::size_t i) {
  const auto& [rank, part] = all.places[i];
  m.next_task(part.stream);
  m.use(part.stream, part.from, part.read_bytes(rank, all.ranks), false, part.name);
  if (part.factor != nullptr && part.factor->in_memory != nullptr)
    m.use(part.stream, part.factor->in_memory, nccl_size(part.type), false, part.name);
  all.here[i]->clock = part.stream->clock;
  m.next_task(part.stream);
  m.use(part.stream, part.to, part.written_bytes(rank, all.ranks), true, part.name);
}

/// Once all have been launched: what came before on any stream comes before what follows on each.
void join_clocks(const Meeting& all) {
  for (const RankPart& place : all.places)
    for (const auto& mark : all.here)
      place.part.stream->clock.join(mark->clock);
}

/// Puts what one stream does on it. A message of a rank to itself has both places there.
void launch(Machine& m, const std::shared_ptr<Meeting>& all, CUstream_st* s) {
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < all->places.size(); ++i)
    if (all->places[i].part.stream == s) own.push_back(i);
  const void* const owner = all->places[own.front()].part.owner;
  const auto push = [&](Task task) {
    task.owner = owner;
    Machine::push(s, std::move(task));
  };
  for (const std::size_t i : own) {
    use_memory(m, *all, i);
    push({.sets = all->here[i]});
  }
  for (const auto& mark : all->here)
    push({.after = mark});
  if (all->hangs) push({.after = m.never});
  const auto works = [&m, s] { return m.error(s->gpu) == 0; };
  for (const std::size_t i : own)
    push({.run =
              [&m, all, works] {
                if (works()) read(m, *all);
              },
          .sets = all->read[i]});
  for (const auto& mark : all->read)
    push({.after = mark});
  for (const std::size_t i : own)
    push({.run =
              [&m, all, works, i] {
                if (works()) write(m, *all, all->places[i]);
              },
          .sets = all->ends[i]});
  all->launched += own.size();
  if (all->launched == all->places.size()) join_clocks(*all);
}

}  // namespace

Marks meet(Machine& m, std::vector<RankPart> places, std::size_t ranks, bool uses_peers) {
  const auto all = std::make_shared<Meeting>(
      Meeting{.places = std::move(places),
              .ranks = ranks,
              .hangs = uses_peers && m.settings.peers == Peers::hanging,
              .damages = uses_peers && m.settings.peers == Peers::wrong_bytes});
  for (std::size_t i = 0; i < all->places.size(); ++i)
    for (Marks* marks : {&all->here, &all->read, &all->ends})
      marks->push_back(std::make_shared<Mark>());
  const CUstream_st* last = nullptr;
  for (const auto& [rank, part] : all->places)
    if (std::exchange(last, part.stream) != part.stream)
      m.streams.later(part.owner, [&m, all, s = part.stream] { launch(m, all, s); });
  return all->ends;
}

}  // namespace tandem::stand_in
