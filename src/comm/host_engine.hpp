// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "comm/engine.hpp"
#include "comm/one_process_attendance.hpp"

namespace tandem::comm {

/// Carries operations out on the host: the ranks' threads share the slices of the plan.
class HostEngine final : public Engine {
 public:
  HostEngine() : Engine(std::make_shared<OneProcessAttendance>()) {}

  void begin(const std::shared_ptr<Operation>& op) override;
  void help(Operation& op) noexcept override;
  bool ends_by_itself() const noexcept override { return true; }
  void abort(const Failure&) noexcept override {}
  void drain() noexcept override {}
  std::shared_ptr<Engine> split(const std::vector<int>& ranks, std::int64_t number) const override;
};

}  // namespace tandem::comm
