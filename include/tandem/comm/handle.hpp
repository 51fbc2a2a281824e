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
/// Move-only; of the thread that uses the rank. Keeps the tensors until the end.
class Handle {
 public:
  /// What a backend keeps for a started collective; destroyed on the rank's thread.
  ///
  /// Its destructor leaves no other thread with the tensors: it waits for work under way, and fails
  /// the group where the collective has not begun.
  class Pending {
   public:
    virtual ~Pending() = default;
    /// @param timeout  most time to wait for other ranks; max(): the group's.
    virtual void wait(std::chrono::milliseconds timeout) = 0;
    /// The part of wait() that has to do with other ranks.
    virtual void settle(std::chrono::milliseconds timeout) = 0;
    virtual bool done() const noexcept = 0;
    /// Of a recv that has been waited for, the rank that sent; else -1.
    virtual int source() const noexcept = 0;
  };

  /// Already done.
  Handle() = default;
  explicit Handle(std::unique_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}

  /// Takes part in the work that is left, and returns when the output is there; then does nothing.
  ///
  /// @throws Desync, CommAborted, Timeout  see Communicator.
  void wait() { wait_for(std::chrono::milliseconds::max()); }
  /// The same with a time-out of its own in place of the group's.
  ///
  /// @throws InvalidArgument  `timeout` is zero or less.
  void wait_for(std::chrono::milliseconds timeout);
  /// Returns when no rank is waited for any more: on the host the output is there, on a GPU it is
  /// on its way, and wait() makes the main stream wait for it, now or later. The tensors are not
  /// kept any more: they are to outlive the wait.
  ///
  /// @throws  as wait()
  void settle();
  /// A handle whose wait() is this one's, and then `f()`.
  Handle then(std::function<void()> f) &&;
  /// wait() would return at once.
  bool done() const noexcept { return pending_ == nullptr || pending_->done(); }
  /// Of start_recv, after wait(): the rank that sent; else -1.
  int source() const noexcept { return source_; }

 private:
  int source_ = -1;
  std::unique_ptr<Pending> pending_;
};

}  // namespace tandem::comm
