// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>

#include "comm/operation.hpp"
#include "comm/processes/links.hpp"
#include "comm/processes/membership.hpp"

namespace tandem::comm {

/// What a sender says of a message before its data.
struct Announcement {
  std::int32_t from = 0, to = 0, tag = 0;  // ranks of the group
  std::uint32_t channel = 0;
  Signature signature = {};
};
/// The tag of announcements.
std::uint64_t announcement_tag(std::uint64_t group) noexcept;

/// The messages to ranks of this process, of a group, that have been announced and that nobody has
/// taken yet. Used with the mesh's lock held.
class Mailbox {
 public:
  explicit Mailbox(std::shared_ptr<const Membership> group);

  /// Takes notice of what has been announced. A process that has gone announces nothing.
  void look(ProcessLinks& links);
  /// Takes back what it waits for, and looks no more: the group, or the mesh, has ended.
  void close() noexcept;
  /// What a receiver waits for; `from` may be any_source.
  struct Wanted {
    int from = 0, to = 0, tag = 0;
    bool fits(const Announcement& a) const noexcept {
      return a.to == to && a.tag == tag && (from == any_source || a.from == from);
    }
  };
  using Ticket = std::list<Wanted>::iterator;
  /// Those who come first take first.
  Ticket wait_for(const Wanted& wanted) { return waiting_.insert(waiting_.end(), wanted); }
  void forget(Ticket ticket) noexcept { waiting_.erase(ticket); }
  /// The oldest one that fits, and that no earlier receiver waits for; it is not in the box any
  /// more.
  std::optional<Announcement> take(Ticket ticket);
  void put_back(const Announcement& announcement) { arrived_.push_front(announcement); }

 private:
  /// Where the next announcement of a process arrives.
  struct Slot {
    int process;
    Announcement next = {};
    std::unique_ptr<ProcessLinks::Message> message = nullptr;
    bool has_gone = false;
  };

  const std::shared_ptr<const Membership> group_;
  std::list<Slot> slots_;  // of the other processes, until it is closed
  std::deque<Announcement> arrived_;
  std::list<Wanted> waiting_;
};

}  // namespace tandem::comm
