// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tandem/world/address.hpp"

namespace tandem::world {

/// What launch() starts.
struct LauncherOptions {
  /// The program, looked for in PATH, and its arguments.
  std::vector<std::string> command = {};
  int processes = 1;
  /// Where the store listens that the processes meet by; port 0: a free one.
  Address store = {"127.0.0.1", 0};
  /// A folder for what the processes print: R.out and R.err of each rank. "": it is printed here,
  /// line by line, behind "[R] ".
  std::string log_dir = {};
  /// Between the signal that asks processes to end and the one that ends them.
  std::chrono::milliseconds grace = std::chrono::seconds(10);
};

/// Starts processes of one program on this machine, and stays until all have ended.
///
/// Each has the variables of torchrun (read_launch) and, unless it is set, OMP_NUM_THREADS with its
/// share of the cores; its input is empty. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2
/// are passed on, whichever thread of the caller gets them; after one of the first four the
/// processes have the grace to end, and are ended then. When one fails the others have a second to
/// notice it and to end by themselves. Then they are asked to end, by SIGTERM, and ended after the
/// grace, and the last lines of the failed one's errors are printed, as the last ones. No process
/// outlives the caller.
///
/// Called from one thread at a time; meanwhile the handlers of these signals and of SIGCHLD are
/// its own.
/// @return  0; the exit status of the first that failed, or 128 and the number of the signal that
///          ended it; 128 and the number of the signal that the caller got to end all of them
/// @throws InvalidArgument  no command, a number of processes below 1, a program that is not found,
///                          or a folder that cannot be written.
/// @throws FileError        all have ended well, but what they printed could not be written.
int launch(const LauncherOptions& options);

/// Makes this program several processes: the first line of a main is
/// `if (const auto status = world::spawn({.processes = 4})) return *status;`
///
/// It starts this program again, with its arguments, as launch() does, and stays until all have
/// ended. In those, and wherever another launcher has started this process, it does nothing, and
/// the program goes on. It does not fork: it may be called while there are other threads.
/// @param options  without a command.
/// @return  none: this process is one of several, or processes is 1; otherwise what main returns.
/// @throws InvalidArgument  as launch(), or there is a command.
std::optional<int> spawn(LauncherOptions options);

}  // namespace tandem::world
