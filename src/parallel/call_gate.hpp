// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "tandem/runtime/worker.hpp"

namespace tandem::parallel {

struct Call;

/// Lets the calls of a wrapper in one at a time, and ends the one that is inside when the wrapper
/// goes.
class CallGate {
 public:
  /// The user's call, from its beginning to its end.
  class Pass {
   public:
    /// @throws InvalidArgument  a call is inside already, and stays undisturbed; or this process
    ///                          was forked after the gate was made, and has no threads to call.
    explicit Pass(CallGate& gate);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    /// Names what cancel() ends.
    void show(std::shared_ptr<Call> call);

   private:
    CallGate& gate_;
  };

  /// Ends the call that is inside as if a replica had failed, unless all of them have agreed to it,
  /// and waits for its end, at most two seconds.
  void cancel() noexcept;

 private:
  const unsigned forks_ = fork_count();
  std::mutex mutex_;  // guards what follows
  std::condition_variable left_;
  bool busy_ = false;
  bool cancelled_ = false;  // the call that is inside, even if it has not been shown
  std::shared_ptr<Call> call_;
};

}  // namespace tandem::parallel
