// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "comm/engine.hpp"
#include "comm/queued_work.hpp"
#include "comm/rank_table.hpp"
#include "comm/transport.hpp"

namespace tandem::comm {

/// Queues operations on the side streams of the ranks' GPUs.
///
/// An operation is complete when all of its work is queued, after the work that is already on the
/// side streams and after the parts' events. Operation::ended says when the GPUs have done it.
class GpuEngine final : public Engine {
 public:
  /// @param transport  null: the GPUs' own kernels and copies.
  /// @param timeout    how long the transport's work may take to end when the group ends.
  GpuEngine(RankTable ranks,
            std::shared_ptr<Transport> transport,
            std::chrono::milliseconds timeout)
      : ranks_(std::move(ranks)), transport_(std::move(transport)), timeout_(timeout) {}
  ~GpuEngine() override;
  GpuEngine(const GpuEngine&) = delete;
  GpuEngine& operator=(const GpuEngine&) = delete;

  /// By the rank that came last, for all: kernels and copies do not wait for each other's threads.
  /// Waits only for staging.
  ///
  /// @throws DeviceError, OutOfMemory, Timeout  what had been queued has been waited for.
  void begin(Operation& op) override;
  void help(Operation&) noexcept override {}
  bool ends_by_itself() const noexcept override { return true; }
  void abort(const std::string& reason) noexcept override;
  void drain() noexcept override;
  std::shared_ptr<Engine> split(const std::vector<int>& ranks) const override;

 private:
  /// Queues all of the operation's work. Sets `ended` and, if observers ask for them, times.
  void queue(Operation& op);

  const RankTable ranks_;
  const std::shared_ptr<Transport> transport_;
  const std::chrono::milliseconds timeout_;
  std::mutex queueing_;  // guards what follows, and calls of the transport
  QueuedWork queued_;    // on the transport
  bool has_failed_ = false;
};

}  // namespace tandem::comm
