// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace tandem::world {

/// Puts what a process prints where it belongs, a line at a time, so that lines of two processes
/// are never mixed up.
class LineOutput {
 public:
  /// @param to      the descriptor that gets the lines
  /// @param prefix  before each of them
  LineOutput(int to, std::string prefix) : to_(to), prefix_(std::move(prefix)) {}

  /// Takes what can be read from a descriptor that does not block. @return  false: it has ended
  bool read(int from);
  /// Writes what has come of a line without an end, as a line.
  void finish();
  /// The last lines, without the prefix.
  const std::deque<std::string>& last_lines() const noexcept { return last_; }
  /// Why lines are lost, as an errno; 0: none are, or whoever read them has gone.
  int error() const noexcept { return error_; }

 private:
  void take(std::string_view bytes);
  void write_line(const std::string& line);

  int to_;
  std::string prefix_;
  std::string begun_;
  std::deque<std::string> last_;
  int error_ = 0;
};

}  // namespace tandem::world
