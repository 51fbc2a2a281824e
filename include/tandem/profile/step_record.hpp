// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

namespace tandem {
class StreamClock;
class StreamPoint;
}  // namespace tandem

namespace tandem::profile {

/// How long something took, or when it was, counted from the beginning of a record.
using Duration = std::chrono::nanoseconds;

/// What a piece of work costs, whatever carries it out.
struct WorkCost {
  DType dtype = DType::f32;
  Mnk mnk = {};
  double flops = 0;
  std::size_t nbytes = 0;  ///< that it reads and writes
};

/// A piece of a device's work.
struct WorkSpan {
  Device device;
  Phase phase;
  Work::Kind kind;
  const char* name;  ///< the op's name
  RowRange rows;     ///< the replica's rows; all rows if the work is not a replica's
  std::shared_ptr<const std::string> module_path;  ///< the module whose forward called it, or
                                                   ///< the op it is the backward of; null: none
  int thread;                        ///< the calling thread; threads are numbered from 0 as seen
  std::optional<Category> category;  ///< of what it writes, else of what it reads; none: neither
  Duration begin;                    ///< when the device did it; for a GPU, its stream
  Duration end;
  Duration queued_begin;  ///< when the thread called it; for a GPU, when it queued it on the
                          ///< stream; on the host equal to `begin`
  Duration queued_end;
  int bucket = -1;  ///< the bucket of gradients or of parameters (each numbered separately) that it
                    ///< exchanges; -1: none
  WorkCost cost = {};
  std::optional<Exchange> exchange = std::nullopt;  ///< of a collective
  std::int64_t sequence = 0;                        ///< see StepRecord

  bool in_replica() const noexcept { return rows.end >= 0; }
  /// Starts or ends a collective, a barrier among them.
  bool is_collective() const noexcept {
    return kind == Work::Kind::collective || kind == Work::Kind::barrier;
  }
};

/// Work of a GPU's side stream (a collective). It is not part of the main stream's work.
struct SideSpan {
  Device device;
  Phase phase;
  const char* name;  ///< the collective's name; of coalesced collectives, that of the first
  std::optional<Category> category;  ///< of what it writes, else of what it reads
  Duration begin;
  Duration end;
  int bucket = -1;  ///< as in WorkSpan
};

/// Bytes that were moved from one device to another in one go.
struct Transfer {
  Device source;
  Device destination;
  Category category;  ///< the destination's
  Phase phase;
  std::size_t nbytes;
  Duration begin;  ///< when the bytes were moving: by the GPUs' streams if GPUs are involved; for a
                   ///< collective, the time of all its ranks
  Duration end;
  Duration queued_begin;  ///< when it was called; for a GPU, when it was queued on the stream; on
                          ///< the host equal to `begin`
  Duration queued_end;
  int bucket = -1;                 ///< as in WorkSpan
  int thread = 0;                  ///< likewise
  std::int64_t sequence = 0;       ///< see StepRecord
  std::uint64_t exchange = 0;      ///< as in CopyEvent
  const char* carrier = "copies";  ///< likewise
};

/// The host read data of a device, for which it waits.
struct HostRead {
  Device device;
  std::size_t nbytes = 0;
  int thread = 0;             ///< as in WorkSpan
  std::int64_t sequence = 0;  ///< see StepRecord
};

/// What uses bytes of memory, and what the bytes depend on: work that uses what a copy between two
/// devices has moved, or a copy whose source was written, or whose target was used, by something
/// before. Uses of what collectives write are not listed.
struct DataUse {
  /// Sequence numbers. The record before ends with 0, and has numbers up to that; what was there
  /// before anything was recorded has kOlder.
  std::int64_t before = 0;
  std::int64_t user = 0;

  static constexpr std::int64_t kOlder = INT64_MIN;
};

/// A thread gave a job to another one, began or ended it, or saw its end.
struct JobMark {
  JobEvent event;
  int thread = 0;             ///< as in WorkSpan
  std::int64_t sequence = 0;  ///< see StepRecord
};

/// The machine on which times were simulated.
struct SimulatedMachine {
  std::string name;
  int gpus = 0;             ///< that took part
  std::string known_error;  ///< how far its times are known to be off, in words; empty: not known
  /// The machine has a known error, which is that of other steps, or of other figures.
  bool is_of_others = false;
  /// Collectives took what the algorithms that ran would take, not those of a library.
  bool collectives_as_run = false;
};

/// "its error is not known", or "known error: ...", or that a step was not compared.
std::string describe_error(const SimulatedMachine& machine);
/// "simulated on 8 GPUs of a100-80x8; known error: ..."
std::string describe(const SimulatedMachine& machine);

/// What all threads of the process executed between two moments.
///
/// What a thread did is in the order of the sequence numbers, which count all that the record has.
/// Those of different threads say nothing: one that waited for another has a mark of the job, or a
/// collective in common with it.
struct StepRecord {
  std::vector<WorkSpan> work;       ///< in the order in which it ended
  std::vector<Transfer> transfers;  ///< in the order in which they were seen
  std::vector<SideSpan> side_work;  ///< likewise; the host has none
  std::vector<HostRead> reads;      ///< likewise
  std::vector<JobMark> jobs;        ///< likewise
  std::vector<DataUse> uses;        ///< likewise
  Duration duration{};
  bool complete = true;  ///< false: the host ran out of memory for the record, or a GPU's times
                         ///< could not be taken
  /// The machine whose times these are; none: the devices' own, which were measured.
  std::optional<SimulatedMachine> simulated = std::nullopt;
};

/// A pair of logical devices. Which thread moved the bytes does not matter.
struct Link {
  Device source;
  Device destination;

  friend auto operator<=>(const Link&, const Link&) = default;
};

/// The bytes that went over a link.
struct Traffic {
  std::array<std::size_t, kCategories> by_category{};
  std::size_t nbytes = 0;  ///< the sum
  std::size_t transfers = 0;
  Duration time{};  ///< the sum of the transfers' times; these may overlap
};

/// The traffic of a record, by link. Links without traffic are left out.
std::map<Link, Traffic> traffic(const StepRecord& record);

/// Records what the devices do. For GPUs, events on their streams give the times.
///
/// Thread-safe except for take(), which must be called when nothing runs. Make it when nothing
/// runs, too: it waits for the GPUs in use, to compare their clocks with the host's.
class StepRecorder final : public Observer {
 public:
  StepRecorder();
  /// The record since the construction or the last take().
  StepRecord take();

  bool times_streams() const noexcept override { return true; }
  void on_memory(const MemoryEvent& event) noexcept override;
  void on_copy(const CopyEvent& event) noexcept override;
  void on_work_begin(const Work& work, const Stream& stream) noexcept override;
  void on_work_end(const Work& work, const Stream& stream) noexcept override;
  void on_read(const char* op, Device device, std::size_t nbytes) noexcept override;
  void on_job(const JobEvent& event) noexcept override;
  void on_side_work(const Work& work,
                    const Stream& side_stream,
                    const std::shared_ptr<const StreamTimes>& times) noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    const Work* work;
    WorkSpan span;
    std::shared_ptr<const StreamPoint> begin;  // null: on the host, or the GPU refused
  };
  /// The numbers of those spans of a record whose times come from GPUs' streams.
  using Timed = std::vector<std::pair<std::size_t, std::shared_ptr<const StreamTimes>>>;

  /// The time since start_; 0 for what began before the record.
  Duration since_start(Clock::time_point t) const;
  std::shared_ptr<const StreamPoint> point(const Stream& stream);
  void calibrate(bool again);
  /// The calling thread's number.
  int this_thread();
  void take_times();
  template <class Span>
  void take_times(const Timed& timed, std::vector<Span>& spans);
  void keep_times(Timed& timed,
                  std::size_t number,
                  const std::shared_ptr<const StreamTimes>& times);
  /// The sequence numbers of what last wrote to memory in use, and of what last used it.
  struct LastUse {
    std::int64_t written = DataUse::kOlder;
    std::int64_t used = DataUse::kOlder;
    bool by_collective = false;
    bool is_awaited = false;  // it was copied here, and nothing has used it since
  };
  void note_use(const Work& work, std::int64_t sequence);
  void note_copy(const CopyEvent& event, std::int64_t sequence);

  Clock::time_point start_;
  std::mutex mutex_;        // guards the members below
  std::vector<Open> open_;  // only a few; those of each thread nest
  Timed timed_work_, timed_transfers_, timed_side_work_;
  std::shared_ptr<StreamClock> clock_;
  std::unordered_map<std::thread::id, int> threads_;
  std::unordered_map<const void*, LastUse> memory_;
  std::int64_t sequence_ = 0;  // of the last that was noted
  StepRecord record_;
};

/// Records what is executed while `step()` runs.
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
