// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

#include "tandem/io/file.hpp"

namespace tandem::world {

/// The signals that a launcher passes on to its processes, and that of an ended process.
inline constexpr std::array kLaunchSignals{
    SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};

/// While it lives, these signals arrive at a descriptor, whichever thread of the process the system
/// gives them to. SIGHUP stays ignored if it was ignored before (nohup).
///
/// There may be one object at a time.
class LaunchSignals {
 public:
  /// @throws CommError  the system has no descriptor left.
  LaunchSignals();
  ~LaunchSignals();
  LaunchSignals(const LaunchSignals&) = delete;
  LaunchSignals& operator=(const LaunchSignals&) = delete;

  int fd() const noexcept { return read_.get(); }
  /// The next one; 0: none has come.
  int next() const;

 private:
  tandem::detail::Descriptor read_, write_;
  std::array<struct sigaction, kLaunchSignals.size()> before_{};
  sigset_t mask_before_{};
};

/// Whether a launcher's processes are to go on after this signal.
bool is_only_news(int signal) noexcept;

/// For a process that is about to become another program: these signals, and SIGPIPE, do what they
/// do in a new process. SIGHUP stays ignored if it is.
void forget_launch_signals() noexcept;

}  // namespace tandem::world
