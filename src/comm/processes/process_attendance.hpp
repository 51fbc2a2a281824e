// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/attendance.hpp"
#include "comm/processes/membership.hpp"
#include "comm/processes/process_mesh.hpp"
#include "comm/processes/roll_call.hpp"

namespace tandem::comm {

/// The attendance of a group whose ranks are in several processes, and which of them it has.
class ProcessAttendance final : public Attendance {
 public:
  /// @param roll_call  null: nobody is asked.
  ProcessAttendance(std::shared_ptr<ProcessMesh> mesh,
                    Backend backend,
                    Membership membership,
                    std::shared_ptr<RollCall> roll_call);
  ~ProcessAttendance() override;
  ProcessAttendance(const ProcessAttendance&) = delete;
  ProcessAttendance& operator=(const ProcessAttendance&) = delete;

  /// The group, until `restart`.
  std::shared_ptr<const Membership> membership() const;
  /// The same ranks are another group from now on: what was said of it before is not about this.
  void restart();
  /// The attendance of a group that is split from this one; see Engine::split.
  std::shared_ptr<ProcessAttendance> split(const std::vector<int>& ranks,
                                           std::int64_t number) const;

  bool has_all_ranks() const noexcept override { return false; }
  std::string group_name() const override;
  bool is_of(std::uint64_t group) const override;
  void attach(const std::shared_ptr<Meeting>& meeting) override;
  void retire(const Failure& why, std::int64_t reached) noexcept override;
  bool lacks_ranks(const Operation& op) const override;
  std::string absence(const Operation& op) const override;
  void ask(const Operation& op) override;
  bool have_answered(const Operation& op) const override;
  std::string absence_elsewhere(const Operation& op) const override;
  std::string silence() const override;

 private:
  /// The processes, by place, that have not come to a collective.
  std::vector<int> missing(const Operation& op) const;
  /// What a process has answered; see RollCall.
  std::vector<std::int64_t> answer(const Membership& group, const Operation& op, int place) const;
  /// "rank 2 (...) (20 collectives so far)" for each rank of a process that has not come, by its
  /// answer; "": all have come.
  std::string absent_ranks(const Membership& group, const Operation& op, int place) const;
  std::string name_of(const Membership& group) const;
  /// Begins, and ends, to hear what is said of the group. With the lock held.
  void listen();
  void stop_listening() noexcept;

  const std::shared_ptr<ProcessMesh> mesh_;
  const std::shared_ptr<RollCall> roll_call_;  // null: nobody is asked
  const Backend backend_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Membership> group_;
  std::weak_ptr<Meeting> meeting_;
};

}  // namespace tandem::comm
