// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tandem/io/file.hpp"

namespace tandem::world {

/// A program that has been started, in a process group of its own, with pipes from its output.
///
/// It is ended when the thread that has started it ends.
class ChildProcess {
 public:
  /// @param environment  beside the variables of this process, which it replaces
  /// @throws InvalidArgument  the program is not found, or cannot be run.
  ChildProcess(const std::vector<std::string>& command,
               const std::map<std::string, std::string>& environment);

  pid_t pid() const noexcept { return pid_; }
  int out() const noexcept { return out_.get(); }
  int err() const noexcept { return err_.get(); }
  bool has_ended() const noexcept { return has_ended_; }
  /// 0, the exit status, or 128 and the signal; once it has ended.
  int status() const noexcept { return status_; }
  /// "exit status 3", "killed by SIGSEGV (exit status 139)".
  std::string end() const;

  /// To its process group, while it lives.
  void signal(int number) const;
  /// Looks whether it has ended. @return  whether it just has
  bool look();

 private:
  pid_t pid_ = -1;
  tandem::detail::Descriptor out_, err_;
  bool has_ended_ = false;
  int status_ = 0;
  int signal_ = 0;  // that has ended it; 0: none
};

}  // namespace tandem::world
