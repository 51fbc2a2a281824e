// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/world/world.hpp"

namespace tandem::comm {

class Meeting;

/// How far the ranks of other processes have come, for a rank that gives up on them.
///
/// The question and the answers go over the watch, whose thread answers at once, whatever the ranks
/// do. Thread-safe.
class RollCall {
 public:
  /// The world's; null in a world of one process.
  static std::shared_ptr<RollCall> of(world::World& world);

  explicit RollCall(world::Watch& watch);
  /// Afterwards nobody asks or answers: the world ends.
  void close() noexcept;

  /// @param group  Attendance::group_name()
  void add(const std::string& group, std::weak_ptr<Meeting> meeting);
  void remove(const std::string& group) noexcept;
  /// Asks all others about a group's ranks.
  ///
  /// @param number  of the collective on which a rank gives up; answers name it
  void ask(const std::string& group, std::int64_t number) noexcept;
  /// How many collectives each rank of a process has reached, in their order; empty: it has not
  /// answered.
  std::vector<std::int64_t> answer(const std::string& group,
                                   std::int64_t number,
                                   int process) const;

 private:
  struct Group {
    std::weak_ptr<Meeting> meeting;
    std::int64_t number = 0;                                // that the answers are about
    std::map<int, std::vector<std::int64_t>> answers = {};  // by process
  };

  void hear(int process, const std::string& text);
  void say(const std::string& text) noexcept;

  mutable std::mutex mutex_;  // guards what follows
  world::Watch* watch_;       // null: the world has ended
  std::map<std::string, Group> groups_;
};

}  // namespace tandem::comm
