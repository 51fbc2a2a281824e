// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// A line between the processes of a world that is open as long as they live: each hears at once
/// when another one has gone, and who gives no sign of life.
///
/// Process 0 passes on what the others say (WatchServer). All functions may be called from any
/// thread.
class Watch {
 public:
  using Milliseconds = std::chrono::milliseconds;
  /// Between two signs of life.
  static constexpr Milliseconds kBeat = std::chrono::seconds(1);

  /// What a process hears, in a thread of the watch, and says of itself; each may be empty.
  struct Listener {
    std::function<void(int process, const std::string& text)> on_word = {};
    /// @param how  "its connection closed"; "": it has said that it leaves
    std::function<void(int process, const std::string& how)> on_end = {};
    /// How many it has done. The signs of life say the sum of all listeners.
    std::function<std::int64_t()> collectives = {};
  };

  /// The processes have met just before.
  /// @param word  the run's (WatchServer): who does not know it is not believed
  /// @throws Timeout, CommError  the server cannot be reached.
  Watch(const Address& server, int process, Milliseconds timeout, const std::string& word = {});
  /// Says that this process leaves.
  ~Watch();

  /// Who hears from now on, besides the others that do; what was said before, it hears first.
  ///
  /// @param who  a name of it for `forget`: an address of its own.
  void listen(const void* who, Listener listener);
  /// It hears nothing any more, and none of its functions runs.
  void forget(const void* who) noexcept;
  /// Says something to all others. It is lost if the line is.
  void say(const std::string& text) noexcept;
  /// The same, for what is not a failure.
  void mention(const std::string& text) noexcept;
  /// The same, to those that listen to notes.
  void note(const std::string& text) noexcept;
  /// Who hears the notes of others from now on, in a thread of the watch; nothing is kept for it.
  /// With none nobody hears them, and no function of the one before runs.
  void listen_to_notes(std::function<void(int process, const std::string& text)> listener);
  /// "alive, 40 collectives so far", "no sign of life for 4.8 s", "gone: its connection closed";
  /// before the first sign, "alive when the processes met, 0.4 s ago".
  std::string state(int process) const;
  /// Whether this process or another one has said something.
  bool has_words() const;
  /// How many processes have gone without saying so.
  int lost() const;
  /// The addresses, as numbers, of this end and of the server's.
  std::string own_host() const;
  std::string server_host() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::world
