// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/attendance.hpp"

namespace tandem::comm {

/// The attendance of a group that is in one process: there is nobody elsewhere.
class OneProcessAttendance : public Attendance {
 public:
  bool has_all_ranks() const noexcept override { return true; }
  std::string group_name() const override { return ""; }
  bool is_of(std::uint64_t /*group*/) const override { return false; }
  void attach(const std::shared_ptr<Meeting>& /*meeting*/) override {}
  void retire(const Failure& /*why*/, std::int64_t /*reached*/) noexcept override {}
  bool lacks_ranks(const Operation& /*op*/) const override { return false; }
  std::string absence(const Operation& /*op*/) const override { return "the work did not end"; }
  void ask(const Operation& /*op*/) override {}
  bool have_answered(const Operation& /*op*/) const override { return true; }
  std::string absence_elsewhere(const Operation& /*op*/) const override { return ""; }
  std::string silence() const override { return ""; }
};

}  // namespace tandem::comm
