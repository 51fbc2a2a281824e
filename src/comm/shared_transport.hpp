// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/queued_work.hpp"
#include "comm/transport.hpp"
#include "runtime/gpu/driver_turn.hpp"

namespace tandem::comm {

/// A transport and what it has been given, for one or several engines of the same devices.
///
/// Thread-safe. Engines that share one fail together: what hangs in one keeps the others' work from
/// ending, and an abort drops all that has not ended.
class SharedTransport {
 public:
  /// @param timeout  how long the transport's work may take to end when the last engine goes.
  SharedTransport(std::shared_ptr<Transport> transport, std::chrono::milliseconds timeout)
      : transport_(std::move(transport)), timeout_(timeout) {}
  ~SharedTransport();
  SharedTransport(const SharedTransport&) = delete;
  SharedTransport& operator=(const SharedTransport&) = delete;

  /// The calling thread's turn to queue an operation.
  class Turn {
   public:
    explicit Turn(SharedTransport& of) : lock_(of.queueing_) {}

   private:
    DriverTurn driver_;
    std::unique_lock<std::mutex> lock_;
  };

  bool takes(const Piece& piece) const { return transport_->takes(piece); }
  /// See Transport::queue. In a turn.
  void queue(const std::vector<const Piece*>& pieces);
  /// Notes when what was queued in this turn begins and ends.
  void note(QueuedWork::Events ready, std::shared_ptr<const Event> ended);
  /// Ends what hangs. What ends soon is left alone, and so is what is being queued now.
  void abort() noexcept;
  /// Gives back what the transport holds of the GPUs, if it has ended all that it was given. The
  /// next operation makes it again.
  void close_if_idle() noexcept;
  /// Makes one for another group of some of these devices.
  std::shared_ptr<SharedTransport> make(const std::vector<Device>& devices) const;

 private:
  const std::shared_ptr<Transport> transport_;
  const std::chrono::milliseconds timeout_;
  std::mutex queueing_;  // guards what follows, and calls of the transport
  QueuedWork queued_;
  bool has_failed_ = false;
};

}  // namespace tandem::comm
