// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "stand_in/nccl/meeting.hpp"

namespace tandem::stand_in {

/// The ranks of a communicator: their parts meet here. The first collective of each, the second of
/// each, and so on; messages by sender and receiver.
class Clique {
 public:
  /// Its GPUs are peers, unless NCCL's own variable keeps them from it.
  explicit Clique(std::size_t ranks);

  std::size_t ranks() const { return members_.size(); }
  /// Whether the rank has a communicator, or has had one.
  bool has(std::size_t rank) const { return members_[rank].gpu >= 0; }
  void enter(std::size_t rank, int gpu) { members_[rank].gpu = gpu; }
  /// The rank comes with nothing more, and what it has come with alone is dropped.
  void leave(std::size_t rank);
  /// The rank whose GPU it is; the number of ranks: none.
  std::size_t rank_of(int gpu) const;

  /// Once all have come, NCCL's thread queues it.
  void give(Machine& m, std::size_t rank, const Part& part);
  /// Whether all parts of the rank were met.
  bool has_met(std::size_t rank) const;
  /// Whom the rank waits for, in words.
  std::string missing(std::size_t rank) const;
  /// The rank's last part; null: there was none.
  const std::shared_ptr<Mark>& last(std::size_t rank) const { return members_[rank].last; }

 private:
  struct Member {
    int gpu = -1;
    bool has_left = false;
    std::deque<Part> collectives = {}, messages = {};  // not met
    std::shared_ptr<Mark> last = nullptr;
  };
  void meet_all(Machine& m);
  void meet_message(Machine& m, std::size_t rank, const Part& part);
  void check(Machine& m, const std::vector<RankPart>& places) const;
  void launch(Machine& m, const std::vector<RankPart>& places);
  std::string names(const std::vector<std::size_t>& ranks) const;

  std::vector<Member> members_;  // by rank
  bool uses_peers_;
};

}  // namespace tandem::stand_in
