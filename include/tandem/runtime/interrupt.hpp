// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace tandem {

/// Until the end of the scope, a data-parallel call that this thread makes ends early if its caller
/// wants it to: for programs whose users press Ctrl-C.
///
/// The thread must be free to ask while the devices work, so a call that has one device runs on
/// that device's thread too. Scopes of one thread nest, and the innermost one is asked.
class InterruptScope {
 public:
  /// @param wants_stop  called on this thread about ten times a second, while it waits. If it
  ///                    returns true, the call fails without effect, as if one of its replicas had
  ///                    failed. Replicas notice at their next wait or kernel.
  explicit InterruptScope(std::function<bool()> wants_stop);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  /// The calling thread's innermost scope; null: none.
  static InterruptScope* current() noexcept;
  /// Whether the call is to stop. Asks only if it has not asked for a while.
  bool wants_stop();

 private:
  using Clock = std::chrono::steady_clock;

  std::function<bool()> wants_stop_;
  Clock::time_point next_ = Clock::now();
  InterruptScope* outer_;
};

}  // namespace tandem
