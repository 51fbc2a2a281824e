// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/clique.hpp"

#include <algorithm>
#include <cstring>

#include "stand_in/nccl/reduction.hpp"

namespace tandem::stand_in {

void Clique::leave(std::size_t rank) {
  Member& own = members_[rank];
  own.has_left = true;
  own.collectives.clear();
  own.messages.clear();
}

std::size_t Clique::rank_of(int gpu) const {
  return static_cast<std::size_t>(std::ranges::find(members_, gpu, &Member::gpu) -
                                  members_.begin());
}

bool Clique::has_met(std::size_t rank) const {
  return members_[rank].collectives.empty() && members_[rank].messages.empty();
}

std::string Clique::missing(std::size_t rank) const {
  const Member& own = members_[rank];
  std::vector<std::size_t> absent;
  if (own.collectives.empty()) {
    const Part& part = own.messages.front();
    return names({static_cast<std::size_t>(part.root)}) + " to call " +
           (part.kind == Part::Kind::send ? "ncclRecv" : "ncclSend");
  }
  for (std::size_t r = 0; r < members_.size(); ++r)
    if (members_[r].collectives.empty()) absent.push_back(r);
  return names(absent);
}

std::string Clique::names(const std::vector<std::size_t>& ranks) const {
  std::string text;
  for (const std::size_t r : ranks) {
    const Member& one = members_[r];
    text += (text.empty() ? "rank " : ", rank ") + std::to_string(r);
    if (one.gpu < 0)
      text += " (no communicator)";
    else
      text += " (GPU " + std::to_string(one.gpu) + (one.has_left ? ", it has left)" : ")");
  }
  return text;
}

void Clique::give(Machine& m, std::size_t rank, const Part& part) {
  if (part.is_message()) return meet_message(m, rank, part);
  members_[rank].collectives.push_back(part);
  meet_all(m);
}

void Clique::meet_all(Machine& m) {
  std::vector<Place> places;
  for (std::size_t r = 0; r < members_.size(); ++r) {
    if (members_[r].collectives.empty()) return;
    places.push_back({r, members_[r].collectives.front()});
  }
  for (Member& one : members_)
    one.collectives.pop_front();
  check(m, places);
  if (places.front().part.kind != Part::Kind::join) launch(m, places);
}

void Clique::meet_message(Machine& m, std::size_t rank, const Part& part) {
  const auto peer = static_cast<std::size_t>(part.root);
  auto& waiting = members_[peer].messages;
  const auto other = std::ranges::find_if(waiting, [&](const Part& o) {
    return o.kind != part.kind && o.root == static_cast<int>(rank);
  });
  if (other == waiting.end()) return members_[rank].messages.push_back(part);
  const bool sends = part.kind == Part::Kind::send;
  const Place own{rank, part}, its{peer, *other};
  waiting.erase(other);
  const std::vector<Place> places = sends ? std::vector{own, its} : std::vector{its, own};
  check(m, places);
  launch(m, places);
}

void Clique::check(Machine& m, const std::vector<Place>& places) const {
  const auto& [first, one] = places.front();
  for (const auto& [rank, part] : places) {
    const bool fits =
        part.is_message() ? part.count == one.count && part.type == one.type : part.matches(one);
    if (!fits)
      m.fatal("deadlock",
              part.name,
              "ranks meet with different calls: " + names({first}) + " with " + one.text() +
                  ", and " + names({rank}) + " with " + part.text());
  }
}

void Clique::launch(Machine& m, const std::vector<Place>& places) {
  std::vector<std::shared_ptr<Mark>> here;
  for (const auto& [rank, part] : places) {
    m.next_task(part.stream);
    here.push_back(std::make_shared<Mark>(Mark{.clock = part.stream->clock}));
    Machine::push(part.stream, {.sets = here.back()});
  }
  CUstream_st* const s = places.front().part.stream;
  for (const auto& mark : here)
    Machine::wait(s, mark);
  m.next_task(s);
  for (const auto& [rank, part] : places) {
    m.use(s, part.from, part.read_bytes(rank, ranks()), false, part.name);
    if (part.factor != nullptr && part.factor->in_memory != nullptr)
      m.use(s, part.factor->in_memory, nccl_size(part.type), false, part.name);
    m.use(s, part.to, part.written_bytes(rank, ranks()), true, part.name);
  }
  const auto end = std::make_shared<Mark>(Mark{.clock = s->clock});
  Machine::push(s, {.run = [&m, places, n = ranks()] { run(m, places, n); }, .sets = end});
  for (const auto& [rank, part] : places) {
    Machine::wait(part.stream, end);
    members_[rank].last = end;
  }
}

void Clique::run(Machine& m, const std::vector<Place>& places, std::size_t ranks) {
  const Part& one = places.front().part;
  std::vector<Given> given;
  std::vector<std::byte> result;  // what a rank gets may be what another has yet to give
  for (const auto& [rank, part] : places) {
    const std::size_t n = part.read_bytes(rank, ranks);
    const auto* const from = static_cast<const std::byte*>(m.memory.host(part.from));
    if (!part.is_reduction()) {
      result.insert(result.end(), from, from + n);
      continue;
    }
    const void* factor = nullptr;
    if (part.factor != nullptr)
      factor = part.factor->in_memory != nullptr ? m.memory.host(part.factor->in_memory)
                                                 : &part.factor->bits;
    given.push_back({from, factor});
  }
  if (one.is_reduction()) {
    result.resize(one.read_bytes(places.front().rank, ranks));
    reduce_elements(one.type, one.op, given, result.data(), result.size() / nccl_size(one.type));
  }
  const bool scatters = one.kind == Part::Kind::reduce_scatter;
  for (const auto& [rank, part] : places) {
    const std::size_t n = part.written_bytes(rank, ranks);
    if (n > 0) std::memcpy(m.memory.host(part.to), result.data() + (scatters ? rank * n : 0), n);
  }
}

}  // namespace tandem::stand_in
