// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>

namespace tandem::cli {

/// Takes SIGINT, SIGTERM and SIGHUP as the wish to end a run. The first of them is noted; the
/// second ends the program at once, with status 128 + its number. There may be one object at a
/// time.
///
/// SIGHUP stays ignored if it was ignored before (nohup).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The number of the signal that came; 0: none came.
  static int came() noexcept;
};

/// The name of a signal: "SIGTERM".
const char* signal_name(int signal) noexcept;

/// While it lives, SIGUSR1 writes to stderr what each device does and holds, and the work goes on.
class StatusSignal {
 public:
  StatusSignal();
  ~StatusSignal();
  StatusSignal(const StatusSignal&) = delete;
  StatusSignal& operator=(const StatusSignal&) = delete;

  /// Notes how far the work is, for those who ask by SIGUSR1.
  static void note_step(std::int64_t step) noexcept;

 private:
  int ends_[2] = {-1, -1};  // of a pipe: a signal's handler may write, and not much else
  std::jthread thread_;
};

}  // namespace tandem::cli
