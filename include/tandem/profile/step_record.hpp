// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/runtime/memory.hpp"
#include "tandem/runtime/observer.hpp"

namespace tandem::cuda {
class StreamClock;
class StreamPoint;
}  // namespace tandem::cuda

namespace tandem::profile {

/// Time since a record's beginning.
using Since = std::chrono::nanoseconds;

/// A piece of work of a device.
struct WorkSpan {
  Device device;
  Phase phase;
  Work::Kind kind;
  const char* name;  ///< of the op
  RowRange rows;     ///< of the replica; all rows where it is no replica's work
  std::shared_ptr<const std::string> module_path;  ///< whose forward called it, or the forward of
                                                   ///< what it is the backward of; null: none
  int thread;                        ///< that called it: numbered from 0 as they are seen
  std::optional<Category> category;  ///< of what it writes, else of what it reads; none: nothing
  Since begin;                       ///< when the device did it: a GPU's stream
  Since end;
  Since queued_begin;  ///< when the thread called it, and gave it to a GPU's stream; on the host
                       ///< the same
  Since queued_end;
  int bucket = -1;  ///< of gradients or parameters that it exchanges, each counted by themselves;
                    ///< -1: none

  bool in_replica() const noexcept { return rows.end >= 0; }
  /// Starts or ends a collective, a barrier among them.
  bool is_collective() const noexcept {
    return kind == Work::Kind::collective || kind == Work::Kind::barrier;
  }
};

/// What a GPU's side stream did beside its main one, of whose work this is no part: a collective.
struct SideSpan {
  Device device;
  Phase phase;
  const char* name;                  ///< of the collective; of several that are one the first's
  std::optional<Category> category;  ///< of what it writes, else of what it reads
  Since begin;
  Since end;
  int bucket = -1;  ///< as of WorkSpan
};

/// Bytes that went from one device to another at once.
struct Transfer {
  Device source;
  Device destination;
  Category category;  ///< of the destination
  Phase phase;
  std::size_t nbytes;
  Since begin;  ///< when they were under way: where GPUs are among the devices by their streams,
                ///< and of a collective for all its ranks
  Since end;
  Since queued_begin;  ///< when it was called, and given to a GPU's stream; on the host the same
  Since queued_end;
  int bucket = -1;  ///< as of WorkSpan
};

/// What was executed between two moments, by all threads of the process.
struct StepRecord {
  std::vector<WorkSpan> work;       ///< in the order in which it ended
  std::vector<Transfer> transfers;  ///< in the order in which they were seen
  std::vector<SideSpan> side_work;  ///< likewise; the host has none
  Since duration{};
  bool complete = true;  ///< false: the host had no memory to keep all of it, or a GPU's times
                         ///< could not be taken
};

/// Logical devices: whose thread carried the bytes does not matter.
struct Link {
  Device source;
  Device destination;

  friend auto operator<=>(const Link&, const Link&) = default;
};

/// What went over a link.
struct Traffic {
  std::array<std::size_t, kCategories> by_category{};
  std::size_t nbytes = 0;  ///< the sum
  std::size_t transfers = 0;
  Since time{};  ///< the sum of the transfers' times, which may overlap
};

/// The traffic of a record, by link. Links without any are not there.
std::map<Link, Traffic> traffic(const StepRecord& record);

/// When bytes were under way, and what of this time was not lost.
struct Overlap {
  Since transferring{};  ///< some link had bytes under way
  Since hidden{};        ///< and some device did work that counts
  /// hidden / transferring; 0 where nothing was under way.
  double share() const noexcept {
    if (transferring <= Since{}) return 0;
    return static_cast<double>(hidden.count()) / static_cast<double>(transferring.count());
  }
};

/// @param counts   tells work that computes from work that only waits for others, or sends.
/// @param travels  the transfers that are looked at; none: all.
Overlap overlap(const StepRecord& record,
                const std::function<bool(const WorkSpan&)>& counts,
                const std::function<bool(const Transfer&)>& travels = {});

/// Keeps what the devices do. Of GPUs the times are taken on their streams, by events.
///
/// Thread-safe but for take(), which is called when nothing runs. Made when nothing runs: it waits
/// for the GPUs in use, to learn how their clocks stand to the host's.
class StepRecorder final : public Observer {
 public:
  StepRecorder();
  /// What was seen since the beginning, or since the last take().
  StepRecord take();

  bool times_streams() const noexcept override { return true; }
  void on_copy(const CopyEvent& event) noexcept override;
  void on_work_begin(const Work& work, const Stream& stream) noexcept override;
  void on_work_end(const Work& work, const Stream& stream) noexcept override;
  void on_side_work(const Work& work,
                    const Stream& side_stream,
                    const std::shared_ptr<const cuda::StreamTimes>& times) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  using StreamTimes = std::shared_ptr<const cuda::StreamTimes>;
  struct Open {
    const Work* work;
    WorkSpan span;
    std::shared_ptr<const cuda::StreamPoint> begin;  // null: on the host, or CUDA refused
  };
  /// Which of a record's spans have their times from GPUs' streams, by number.
  using Timed = std::vector<std::pair<std::size_t, StreamTimes>>;

  /// What was under way before the record counts from its beginning on.
  Since since_start(Clock::time_point t) const;
  std::shared_ptr<const cuda::StreamPoint> point(const Stream& stream);
  void calibrate(bool again);
  void take_times();
  template <class Span>
  void take_times(const Timed& timed, std::vector<Span>& spans);
  void keep_times(Timed& timed, std::size_t number, const StreamTimes& times);

  Clock::time_point start_;
  std::mutex mutex_;        // guards what follows
  std::vector<Open> open_;  // a few: those of each thread nest
  Timed timed_work_, timed_transfers_, timed_side_work_;
  std::shared_ptr<cuda::StreamClock> clock_;  // null: no CUDA
  std::unordered_map<std::thread::id, int> threads_;
  StepRecord record_;
};

/// What is executed while `step()` runs.
///
/// `const auto r = profile::record([&] { dp.step(batch, loss, &optimizer); });`
template <class F>
StepRecord record(F&& step) {
  StepRecorder recorder;
  {
    const Subscription subscription(recorder);
    std::forward<F>(step)();
  }
  return recorder.take();
}

}  // namespace tandem::profile
