// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tandem/comm/backend.hpp"
#include "tandem/world/world.hpp"

#include "comm/failure.hpp"
#include "comm/processes/activity.hpp"
#include "comm/processes/event_count.hpp"
#include "comm/processes/mailbox.hpp"

namespace tandem::comm {

class Meeting;

/// This process's connections to the others of a world, and what is under way on them. A world has
/// one for each backend.
///
/// Whoever waits for an operation moves all of them on; a thread of the mesh does it while nobody
/// waits. Thread-safe.
class ProcessMesh {
 public:
  using Clock = std::chrono::steady_clock;

  /// Connects all processes. The mesh of the same world and backend is made once, and ends with the
  /// world, whoever still has it then.
  ///
  /// @throws CommError, Timeout  the text says who cannot be reached, or what is to be installed.
  static std::shared_ptr<ProcessMesh> of(world::World& world, Backend backend);
  ProcessMesh(world::World& world, Backend backend);
  ProcessMesh(const ProcessMesh&) = delete;
  ProcessMesh& operator=(const ProcessMesh&) = delete;

  /// Another number each time.
  std::uint32_t next_channel() noexcept { return channel_.fetch_add(1); }
  /// The number of the group that is made now, of no group of another backend; groups are made in
  /// the same order everywhere.
  std::uint64_t next_group() noexcept { return groups_.fetch_add(1); }

  /// See ProcessLinks.
  bool has(const ProcessLinks::Native& collective) const noexcept;
  int open_order(std::chrono::milliseconds timeout);

  /// Ends what is under way, and the connections. Nothing can begin any more. By one thread, once,
  /// which is none that the watch calls.
  void close() noexcept;
  /// @throws CommError  the mesh has ended.
  void begin(std::shared_ptr<Activity> activity);
  /// Moves what is under way on until `stop` says true or nothing moves for a moment.
  void help(const std::function<bool()>& stop) noexcept;
  /// The group's mailbox, from its first message until it is removed.
  ///
  /// @throws CommError  the mesh has ended.
  std::shared_ptr<Mailbox> mailbox(const std::shared_ptr<const Membership>& group);
  /// Fails what is under way in a group.
  void stop(std::uint64_t group, const std::shared_ptr<const Failure>& why) noexcept;
  /// Calls f for each activity of a group, with the lock held.
  void look_at(std::uint64_t group, const std::function<void(Activity&)>& f) const;

  /// A group that is to hear what other processes say of it, and whose processes are gone.
  void add(std::uint64_t group, std::weak_ptr<Meeting> meeting);
  void remove(std::uint64_t group) noexcept;
  /// What was said of a group before it was added, that ends its `number`-th collective.
  std::shared_ptr<const Failure> early_word(std::uint64_t group, std::int64_t number) const;
  /// Tells the other processes of a group's failure.
  void tell(std::uint64_t group, const Failure& why) noexcept;
  /// Tells them that a rank of this process was destroyed; see Meeting::note_left.
  void tell_left(std::uint64_t group, const Failure& why, std::int64_t reached) noexcept;
  /// What is known of a process: "alive, 40 collectives so far".
  std::string state(int process) const;
  void count_collective() noexcept { collectives_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Entry {
    std::shared_ptr<Activity> activity;
    bool has_started = true;  // else a process that it needs had gone before
    int running = 0;          // pieces
    std::shared_ptr<const Failure> failure = nullptr;  // it has failed, and waits for its pieces
    std::optional<Clock::time_point> fails_at = std::nullopt;  // unless there is a better reason
    std::shared_ptr<const Failure> lost = nullptr;
  };

  /// What another process has said of a group.
  struct Word {
    std::uint64_t group = 0;
    int process = 0;
    std::shared_ptr<const Failure> why = nullptr;
    std::optional<std::int64_t> reached = std::nullopt;  // it has left the group after so many
  };

  bool turn() noexcept;
  bool advance(Entry& entry) noexcept;
  /// Has an entry that needs the process fail, unless there is another reason soon.
  static void lose(Entry& entry, int process, const std::string& how);
  using Entries = std::list<Entry>;
  void check_open() const;
  bool settle(Entries::iterator entry, Entries& ended) noexcept;
  void run();
  void hear_word(int process, const std::string& text);
  void hear_left(const Word& word, const std::shared_ptr<Meeting>& meeting);
  /// Has a message to or from a process that has left its group fail, unless it comes soon.
  static void lose_message(Entry& entry, const Word& word);
  void hear_end(int process, const std::string& how);

  mutable std::mutex watching_;  // guards watch_; held while something is said
  world::Watch* watch_;          // null in a world of one process, and once the mesh has ended
  EventCount events_;            // whatever may end a wait
  std::unique_ptr<ProcessLinks> links_;  // null once the mesh has ended
  const bool links_tell_;                // of each event; else somebody has to look
  std::atomic<std::uint32_t> channel_{0};
  std::atomic<std::uint64_t> groups_;
  std::atomic<std::int64_t> collectives_{0};
  std::atomic<int> helpers_{0};

  mutable std::mutex mutex_;  // guards what follows, and the use of links_
  std::condition_variable woken_;
  Entries entries_;
  std::map<int, std::string> gone_;  // processes, and how they have ended
  Entries kept_;                     // failed, while links may use their memory
  std::map<std::uint64_t, std::shared_ptr<Mailbox>> mailboxes_;  // by group
  bool ends_ = false;                                            // or has ended

  mutable std::mutex hearing_;           // guards what follows
  std::deque<Word> early_words_, left_;  // the latest ones; left_: with `reached`
  std::map<std::uint64_t, std::weak_ptr<Meeting>> meetings_;

  std::thread thread_;
};

}  // namespace tandem::comm
