// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tandem/autograd/row_group.hpp"
#include "tandem/core/error.hpp"

namespace tandem::libtorch {

/// The nodes of a wrapper's graphs that may wait for those of other replicas, in a backward that is
/// the program's own. No call sees to it that the replicas can meet again when one has failed: the
/// node that is the last to leave does.
///
/// Thread-safe. See Note [Failures in one backward over all devices].
class BackwardMeetings {
 public:
  /// A node that runs.
  class Visit {
   public:
    /// @param group  where it meets the others.
    Visit(BackwardMeetings& meetings, std::shared_ptr<RowGroup> group);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    /// It has thrown: the group may refuse further meetings.
    void fail() noexcept { failed_ = true; }

   private:
    BackwardMeetings& meetings_;
    std::shared_ptr<RowGroup> group_;
    bool failed_ = false;
  };

  /// Runs `f` in a node that meets the others in `group`. @return  what it returns
  ///
  /// @throws InvalidArgument  PyTorch runs the nodes of all devices on one thread.
  template <class F>
  auto visit(std::shared_ptr<RowGroup> group, F&& f) {
    check_threads();
    Visit visit(*this, std::move(group));
    try {
      return std::forward<F>(f)();
    } catch (const CommAborted&) {
      visit.fail();
      await_cause();
      throw;
    } catch (const Desync& e) {
      visit.fail();
      throw in_another_order(e);
    } catch (...) {
      visit.fail();
      throw;
    }
  }

  /// Waits for nodes of a backward that has failed, of which PyTorch has told the caller while
  /// other devices were still in it. To be called before the replicas run anything else.
  ///
  /// @throws Timeout  some have not left within `patience`.
  void await_all_left(std::chrono::milliseconds patience);

 private:
  static void check_threads();
  /// Lets the replica whose failure the calling one has heard of tell the engine first, which keeps
  /// one exception only.
  static void await_cause();
  /// Devices have met in nodes of different forwards.
  static Desync in_another_order(const Desync& e);

  std::mutex mutex_;  // guards what follows
  std::condition_variable left_;
  int inside_ = 0;
  std::vector<std::shared_ptr<RowGroup>> failed_;  // to be reset when all have left
};

}  // namespace tandem::libtorch
