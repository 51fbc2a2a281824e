// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/engine.hpp"
#include "comm/gpu_links.hpp"
#include "comm/one_process_attendance.hpp"
#include "comm/rank_table.hpp"
#include "comm/shared_transport.hpp"

namespace tandem::comm {

/// Queues operations on the side streams of the ranks' GPUs.
///
/// An operation is complete when all of its work is queued, after the work that is already on the
/// side streams and after the parts' events. Operation::ended says when the GPUs have done it.
class GpuEngine final : public Engine {
 public:
  /// @param transport  null: the GPUs' own kernels and copies.
  GpuEngine(RankTable ranks, std::shared_ptr<SharedTransport> transport)
      : Engine(std::make_shared<OneProcessAttendance>()),
        ranks_(std::move(ranks)),
        transport_(std::move(transport)) {}

  /// By the rank that came last, for all: kernels and copies do not wait for each other's threads.
  ///
  /// @throws DeviceError, OutOfMemory, Timeout  what had been queued has been waited for.
  void begin(const std::shared_ptr<Operation>& op) override;
  void help(Operation&) noexcept override {}
  bool ends_by_itself() const noexcept override { return true; }
  void abort(const Failure& why) noexcept override;
  void drain() noexcept override;
  std::shared_ptr<Engine> split(const std::vector<int>& ranks, std::int64_t number) const override;

 private:
  /// Queues all of the operation's work. Sets `ended` and, if observers ask for them, times.
  void queue(Operation& op);

  const RankTable ranks_;
  const GpuLinks links_{ranks_};
  const std::shared_ptr<SharedTransport> transport_;
  std::mutex queueing_;  // held while an operation is queued
};

}  // namespace tandem::comm
