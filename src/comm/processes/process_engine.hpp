// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/engine.hpp"
#include "comm/processes/membership.hpp"
#include "comm/processes/process_mesh.hpp"
#include "comm/processes/roll_call.hpp"

namespace tandem::comm {

/// Carries out the operations of a group whose ranks are in several processes, in the memory of the
/// host.
///
/// In each process the ranks meet as in a group of their own; then the processes compare what they
/// are about to do, and exchange messages (CollectiveExchange).
class ProcessEngine final : public Engine {
 public:
  ProcessEngine(std::shared_ptr<ProcessMesh> mesh,
                RankTable ranks,
                GroupOptions options,
                std::uint64_t group,
                std::shared_ptr<RollCall> roll_call = nullptr,
                std::shared_ptr<NativeOrder> natives = nullptr);
  ~ProcessEngine() override;

  CollectivePlan plan(const Operation& op, const GroupOptions& options) const override;
  void begin(const std::shared_ptr<Operation>& op) override;
  bool has_all_ranks() const noexcept override { return false; }
  void begin_message(const std::shared_ptr<Operation>& op) override;
  bool is_of(std::uint64_t group) const override;
  void help(Operation& op) noexcept override;
  bool ends_by_itself() const noexcept override { return false; }
  void abort(const Failure& why) noexcept override;
  void retire(const Failure& why, std::int64_t reached) noexcept override;
  void restart() override;
  void drain() noexcept override {}
  std::shared_ptr<Engine> split(const std::vector<int>& ranks, std::int64_t number) const override;
  void ask_who_has_come(const Operation& op) override;
  bool have_answered(const Operation& op) const override;
  std::string absence(const Operation& op) const override;
  std::string absence_elsewhere(const Operation& op) const override;
  bool lacks_ranks(const Operation& op) const override;
  std::string silence() const override;
  std::string group_name() const override;
  void attach(const std::shared_ptr<Meeting>& meeting) override;

 private:
  std::vector<std::optional<ProcessLinks::Native>> natives_of(const Operation& op) const;
  /// The processes, by place, that have not come to a collective.
  std::vector<int> missing(const Operation& op) const;
  /// What a process has answered; see RollCall.
  std::vector<std::int64_t> answer(const Membership& group, const Operation& op, int place) const;
  /// "rank 2 (...) (20 collectives so far)" for each rank of a process that has not come, by its
  /// answer; "": all have come.
  std::string absent_ranks(const Membership& group, const Operation& op, int place) const;
  std::string name_of(const Membership& group) const;
  std::shared_ptr<const Membership> membership() const;
  std::shared_ptr<const Failure> reason_to_stop(std::int64_t number) const;

  const std::shared_ptr<ProcessMesh> mesh_;
  const std::shared_ptr<RollCall> roll_call_;  // null: nobody is asked
  const GroupOptions options_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Membership> group_;
  std::weak_ptr<Meeting> meeting_;
  std::shared_ptr<const Failure> failure_;  // null: the group is usable
};

}  // namespace tandem::comm
