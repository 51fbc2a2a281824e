// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "stand_in/machine/clock.hpp"

namespace tandem::stand_in {

/// What each thread of the host knows of the GPUs' work to be done.
///
/// A thread learns it by waiting for a GPU, and from another thread by what puts that one's past
/// before its own: a lock that the other has left, a thread that it starts or joins. Both are told
/// by the address of the lock. Two addresses may share a place here: then a thread seems to know
/// more than it does, and a fault may be missed, but none is made up.
class HostKnowledge {
 public:
  /// Lives until the process has ended, so that any thread may ask.
  static HostKnowledge& get();
  /// From here on every thread knows what one of them does. Whoever calls has the machine's lock.
  static void share();

  /// The calling thread's; null: it has waited for nothing.
  static std::shared_ptr<const Clock> own();
  /// The calling thread has waited for all of it.
  static void learn(const Clock& done);
  static void learn(const std::shared_ptr<const Clock>& done);

  /// The calling thread leaves a lock, or what else is there.
  void leave(const void* lock);
  /// It enters one, after those who have left it.
  void enter(const void* lock);

 private:
  struct Place {
    std::atomic_flag busy = ATOMIC_FLAG_INIT;
    std::atomic<const Clock*> quick = nullptr;
    std::shared_ptr<const Clock> left = nullptr;
  };
  HostKnowledge();
  Place& place(const void* lock);

  std::array<Place, 4096> places_;
};

}  // namespace tandem::stand_in
