// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/failure.hpp"
#include "comm/operation.hpp"

namespace tandem::comm {

/// Who has come to a group's operations in other processes, and what the processes say of the group
/// to each other. The ranks of this process are the meeting's to count.
///
/// Thread-safe.
class Attendance {
 public:
  virtual ~Attendance() = default;

  /// Whether all ranks of the group are in this process.
  virtual bool has_all_ranks() const noexcept = 0;
  /// A name of the group that is the same in all its processes, and of no other group of theirs;
  /// "": it is of this process alone.
  virtual std::string group_name() const = 0;
  /// Whether that is the group's number among those over processes.
  virtual bool is_of(std::uint64_t group) const = 0;
  /// Who is to hear of what other processes say. Called once, before any operation.
  virtual void attach(const std::shared_ptr<Meeting>& meeting) = 0;
  /// A rank of this process was destroyed: the other processes are told that it takes part in no
  /// collective after the `reached`-th one.
  virtual void retire(const Failure& why, std::int64_t reached) noexcept = 0;

  /// Whether an operation that has begun waits for a rank that has not come to it.
  virtual bool lacks_ranks(const Operation& op) const = 0;
  /// Who is waited for in an operation that has begun: "rank 2 (...) did not come".
  virtual std::string absence(const Operation& op) const = 0;
  /// Asks the other processes which of their ranks have come to a collective that has not begun, or
  /// not ended.
  virtual void ask(const Operation& op) = 0;
  /// Whether all of them have answered.
  virtual bool have_answered(const Operation& op) const = 0;
  /// The ranks of other processes that have not come to a collective that has not begun, as far as
  /// these processes have answered; "": it knows of none.
  virtual std::string absence_elsewhere(const Operation& op) const = 0;
  /// Which processes give no sign of life: "; rank 2 (...): no sign of life for 3.1 s".
  virtual std::string silence() const = 0;
};

}  // namespace tandem::comm
