// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "tandem/runtime/event.hpp"

namespace tandem::comm {

/// What a group's transport has been given and may not have ended, oldest first.
///
/// Used by one thread at a time.
class QueuedWork {
 public:
  using Events = std::vector<std::shared_ptr<const Event>>;
  using Duration = std::chrono::steady_clock::duration;

  /// @param ready  what the work waits for. @param ended  after it the work is done.
  void add(Events ready, std::shared_ptr<const Event> ended);
  void clear() noexcept { entries_.clear(); }
  /// Waits until all of it has ended.
  ///
  /// @return  false: it has not within `patience`, or a GPU is lost.
  bool ends_within(Duration patience) noexcept;
  /// Whether some of it has had all that it waits for, and has not ended within `patience`; or a
  /// GPU is lost.
  bool hangs(Duration patience) noexcept;

 private:
  struct Entry {
    Events ready;
    std::shared_ptr<const Event> ended;
  };
  /// @throws DeviceError
  void drop_ended();

  std::deque<Entry> entries_;
};

}  // namespace tandem::comm
