// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <mutex>
#include <utility>

#include "tandem/core/error.hpp"

namespace tandem::libtorch {

/// Remembers that a collective of a replica was stopped because another replica has failed. The
/// error is a consequence, and may lose its class on its way through Python, or be replaced there.
///
/// Thread-safe.
class StoppedReplica {
 public:
  /// A job of the replica begins.
  void begin() noexcept { note(nullptr); }
  /// f(), which may be stopped.
  template <class F>
  auto watch(const F& f) {
    try {
      return f();
    } catch (const CommAborted&) {
      note(std::current_exception());
      throw;
    }
  }
  /// Throws the consequence, if there was one, in place of what the job has thrown.
  void rethrow() const {
    const std::scoped_lock lock(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  void note(std::exception_ptr error) noexcept {
    const std::scoped_lock lock(mutex_);
    error_ = std::move(error);
  }

  mutable std::mutex mutex_;  // guards error_
  std::exception_ptr error_;
};

}  // namespace tandem::libtorch
