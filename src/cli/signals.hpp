// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>

namespace tandem::cli {

/// Takes SIGINT, SIGTERM and SIGHUP as the wish to end a run: the first is noted, whichever it is,
/// and the second ends the program at once, with status 128 + its number. One at a time.
///
/// SIGHUP stays ignored where it was (nohup).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Its number; 0: none came.
  static int came() noexcept;
};

/// "SIGTERM".
const char* signal_name(int signal) noexcept;

/// While it lives, SIGUSR1 writes to stderr what each device does and holds, and the work goes on.
class StatusSignal {
 public:
  StatusSignal();
  ~StatusSignal();
  StatusSignal(const StatusSignal&) = delete;
  StatusSignal& operator=(const StatusSignal&) = delete;

  /// How far the work is, for whoever asks.
  static void note_step(std::int64_t step) noexcept;

 private:
  int ends_[2] = {-1, -1};  // of a pipe: a signal's handler may write, and not much else
  std::jthread thread_;
};

}  // namespace tandem::cli
