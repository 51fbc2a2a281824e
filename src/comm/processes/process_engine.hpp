// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "comm/engine.hpp"
#include "comm/processes/process_attendance.hpp"
#include "comm/processes/process_mesh.hpp"

namespace tandem::comm {

/// Carries out the operations of a group whose ranks are in several processes, in the memory of the
/// host.
///
/// In each process the ranks meet as in a group of their own; then the processes compare what they
/// are about to do, and exchange messages (CollectiveExchange).
class ProcessEngine final : public Engine {
 public:
  ProcessEngine(std::shared_ptr<ProcessMesh> mesh,
                std::shared_ptr<ProcessAttendance> processes,
                GroupOptions options);

  CollectivePlan plan(const Operation& op, const GroupOptions& options) const override;
  void begin(const std::shared_ptr<Operation>& op) override;
  void begin_message(const std::shared_ptr<Operation>& op) override;
  void help(Operation& op) noexcept override;
  bool ends_by_itself() const noexcept override { return false; }
  void abort(const Failure& why) noexcept override;
  void restart() override;
  void drain() noexcept override {}
  std::shared_ptr<Engine> split(const std::vector<int>& ranks, std::int64_t number) const override;

 private:
  std::vector<std::optional<ProcessLinks::Native>> natives_of(const Membership& group,
                                                              const Operation& op) const;
  std::shared_ptr<const Failure> reason_to_stop(const Membership& group, std::int64_t number) const;

  const std::shared_ptr<ProcessMesh> mesh_;
  const std::shared_ptr<ProcessAttendance> processes_;  // the engine's attendance
  const GroupOptions options_;
  mutable std::mutex mutex_;                // guards what follows
  std::shared_ptr<const Failure> failure_;  // null: the group is usable
};

}  // namespace tandem::comm
