// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace tandem::comm {

/// A collective that this rank has started.
///
/// Move-only. Used by the thread that uses the rank. Keeps the tensors alive until it has been
/// waited for.
class Handle {
 public:
  /// What a backend keeps for a started collective. It is destroyed on the rank's thread.
  ///
  /// After its destructor no other thread uses the tensors: it waits for work under way, and makes
  /// the group fail if the collective has not begun.
  class Pending {
   public:
    virtual ~Pending() = default;
    /// @param timeout  the longest time to wait for other ranks; max(): use the group's time-out.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
    /// The part of wait() that waits for other ranks.
    virtual void settle(std::chrono::milliseconds timeout) = 0;
    virtual bool done() const noexcept = 0;
    /// For a recv that has been waited for, the rank that sent; else -1.
    virtual int source() const noexcept = 0;
  };

  /// A handle of something that is done already.
  Handle() = default;
  explicit Handle(std::unique_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}

  /// Returns when the output is ready, after helping with the work that is left. On a GPU the main
  /// stream waits for the output, and the calling thread only for the other ranks. Further calls do
  /// nothing.
  ///
  /// @throws Desync, CommAborted, Timeout  see Communicator.
  void wait() { wait_for(std::chrono::milliseconds::max()); }
  /// Like wait(), with `timeout` in place of the group's time-out.
  ///
  /// @throws InvalidArgument  `timeout` is zero or less.
  void wait_for(std::chrono::milliseconds timeout);
  /// Returns when there is no other rank left to wait for. On the host the output is then ready. On
  /// a GPU it is still being made; a later wait() makes the main stream wait for it. The handle no
  /// longer keeps the tensors alive, so they must outlive the wait.
  ///
  /// @throws  as wait() does.
  void settle();
  /// A handle whose wait() first does this one's wait() and then calls `f()`.
  Handle then(std::function<void()> f) &&;
  /// Whether wait() would return at once.
  bool done() const noexcept { return pending_ == nullptr || pending_->done(); }
  /// For start_recv, after wait(), the rank that sent; else -1.
  int source() const noexcept { return source_; }

 private:
  int source_ = -1;
  std::unique_ptr<Pending> pending_;
};

}  // namespace tandem::comm
