// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/nccl/clique.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace tandem::stand_in {

Clique::Clique(std::size_t ranks) : members_(ranks) {
  const char* const disabled = std::getenv("NCCL_P2P_DISABLE");
  uses_peers_ = disabled == nullptr || std::string_view(disabled) != "1";
}

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
  std::vector<RankPart> places;
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
  const RankPart own{rank, part}, its{peer, *other};
  waiting.erase(other);
  const std::vector<RankPart> places = sends ? std::vector{own, its} : std::vector{its, own};
  check(m, places);
  launch(m, places);
}

void Clique::check(Machine& m, const std::vector<RankPart>& places) const {
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

void Clique::launch(Machine& m, const std::vector<RankPart>& places) {
  const auto ends = meet(m, places, ranks(), uses_peers_);
  for (std::size_t i = 0; i < places.size(); ++i)
    members_[places[i].rank].last = ends[i];
}

}  // namespace tandem::stand_in
