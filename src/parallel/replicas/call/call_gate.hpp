// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include "tandem/runtime/worker.hpp"

namespace tandem::parallel {

struct Call;

/// Admits the calls of a wrapper one at a time, and ends the call that is inside when the wrapper
/// is destroyed.
class CallGate {
 public:
  /// The user's call, from its beginning to its end.
  class Pass {
   public:
    /// @throws InvalidArgument  a call is inside already (it is not disturbed), or this process was
    ///                          forked after the gate was made and has no device threads.
    explicit Pass(CallGate& gate);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    /// Sets the call that cancel() is to end.
    void show(std::shared_ptr<Call> call);

   private:
    CallGate& gate_;
  };

  /// Makes the call that is inside fail, as if one of its replicas had failed, unless all replicas
  /// have already agreed to it. Waits for it to end, for at most two seconds.
  void cancel() noexcept;

 private:
  const unsigned forks_ = fork_count();
  std::mutex mutex_;  // guards what follows
  std::condition_variable left_;
  bool busy_ = false;
  bool cancelled_ = false;  // cancels the call inside, even if it has not been shown yet
  std::shared_ptr<Call> call_;
};

}  // namespace tandem::parallel
