// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/step_record.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "tandem/core/check.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/gpu/gpu_device.hpp"
#include "runtime/gpu/stream_clock.hpp"
#include "runtime/gpu/stream_times.hpp"

namespace tandem::profile {
namespace {

std::optional<Category> category_of(const AccessList& accesses) {
  for (const Access& a : accesses) {
    if (a.direction != Direction::read) return a.buffer->category();
  }
  if (accesses.size > 0) return accesses.begin()->buffer->category();
  return std::nullopt;
}

WorkCost cost_of(const Work& work) {
  WorkCost cost{.dtype = work.dtype, .mnk = work.mnk, .flops = work.flops};
  for (const Access& a : work.accesses)
    cost.nbytes += a.direction == Direction::read_write ? 2 * a.nbytes : a.nbytes;
  return cost;
}

}  // namespace

std::string describe_error(const SimulatedMachine& machine) {
  if (!machine.known_error.empty()) return "known error: " + machine.known_error;
  return machine.is_of_others ? "not compared with measured steps: its error is not known"
                              : "its error is not known";
}

std::string describe(const SimulatedMachine& machine) {
  return detail::concat("simulated on ",
                        machine.gpus,
                        machine.gpus == 1 ? " GPU of " : " GPUs of ",
                        machine.name,
                        machine.collectives_as_run ? ", collectives as run" : "",
                        "; ",
                        describe_error(machine));
}

std::map<Link, Traffic> traffic(const StepRecord& record) {
  std::map<Link, Traffic> links;
  for (const Transfer& t : record.transfers) {
    Traffic& link = links[{t.source, t.destination}];
    link.by_category[static_cast<std::size_t>(t.category)] += t.nbytes;
    link.nbytes += t.nbytes;
    ++link.transfers;
    link.time += t.end - t.begin;
  }
  return links;
}

StepRecorder::StepRecorder() : clock_(std::make_shared<StreamClock>()) {
  constexpr std::size_t kAtFirst = 1024;  // of a small step, so that it is not measured growing
  record_.work.reserve(kAtFirst);
  record_.transfers.reserve(kAtFirst);
  calibrate(false);
  start_ = Clock::now();
}

/// @param again  also those GPUs whose clocks are known: they drift.
void StepRecorder::calibrate(bool again) {
  for (LogicalDevice* device : Runtime::instance().made(DeviceType::cuda)) {
    device->side_stream().synchronize("profile");  // what is under way there is of another record
    if (again || !clock_->knows(device->gpu()->ordinal())) clock_->calibrate(device->stream());
  }
}

StepRecord StepRecorder::take() {
  const std::scoped_lock lock(mutex_);
  record_.duration = since_start(Clock::now());
  take_times();
  open_.clear();
  for (auto& [data, last] : memory_) {
    if (last.written != DataUse::kOlder) last.written -= sequence_;
    if (last.used != DataUse::kOlder) last.used -= sequence_;
  }
  sequence_ = 0;
  start_ = Clock::now();
  return std::exchange(record_, {});
}

Duration StepRecorder::since_start(Clock::time_point t) const {
  return std::max<Duration>(t - start_, Duration{});
}

std::shared_ptr<const StreamPoint> StepRecorder::point(const Stream& stream) {
  if (stream.native() == nullptr) return nullptr;
  try {
    if (!clock_->knows(stream.logical_device().gpu()->ordinal())) clock_->calibrate(stream);
    return stream.native()->point();
  } catch (...) {  // the work will meet the error, too
    record_.complete = false;
  }
  return nullptr;
}

void StepRecorder::take_times() {
  try {
    calibrate(false);  // GPUs that there were not before, and that copies alone went to
    take_times(timed_work_, record_.work);
    take_times(timed_transfers_, record_.transfers);
    take_times(timed_side_work_, record_.side_work);
    calibrate(true);
  } catch (const Error&) {
    record_.complete = false;
  }
  for (Timed* timed : {&timed_work_, &timed_transfers_, &timed_side_work_})
    timed->clear();
}

template <class Span>
void StepRecorder::take_times(const Timed& timed, std::vector<Span>& spans) {
  using Points = std::vector<std::shared_ptr<const StreamPoint>>;
  const auto last = [&](const Points& points) {
    Duration latest{};
    for (const auto& point : points)
      latest = std::max(latest, since_start(clock_->at(point)));
    return latest;
  };
  std::unordered_map<const StreamTimes*, std::pair<Duration, Duration>> known;
  for (const auto& [number, times] : timed) {
    try {
      auto at = known.find(times.get());
      if (at == known.end())
        at = known.emplace(times.get(), std::pair(last(times->begin), last(times->end))).first;
      const auto& [begin, end] = at->second;
      spans[number].begin = std::min(begin, end);  // clocks of GPUs differ by a little
      spans[number].end = end;
      record_.duration = std::max(record_.duration, end);
    } catch (const Error&) {
      record_.complete = false;
    }
  }
}

void StepRecorder::keep_times(Timed& timed,
                              std::size_t number,
                              const std::shared_ptr<const StreamTimes>& times) {
  const auto whole = [](const auto& points) { return std::ranges::count(points, nullptr) == 0; };
  if (whole(times->begin) && whole(times->end))
    timed.emplace_back(number, times);
  else
    record_.complete = false;
}

/// Memory that is freed may be given to something else, even on another device.
void StepRecorder::on_memory(const MemoryEvent& event) noexcept {
  if (event.kind != MemoryEvent::Kind::free) return;
  const std::scoped_lock lock(mutex_);
  memory_.erase(event.data);
}

void StepRecorder::note_use(const Work& work, std::int64_t sequence) {
  for (const Access& a : work.accesses) {
    if (a.buffer->data() == nullptr) continue;
    LastUse& last = memory_[a.buffer->data()];
    if (std::exchange(last.is_awaited, false)) record_.uses.push_back({last.written, sequence});
    last.used = sequence;
    if (work.kind == Work::Kind::collective) last.by_collective = true;
    if (a.direction == Direction::read) continue;
    last.written = sequence;
    last.by_collective = work.kind == Work::Kind::collective;
  }
}

void StepRecorder::note_copy(const CopyEvent& event, std::int64_t sequence) {
  if (event.exchange != 0 || event.from == nullptr || event.to == nullptr) return;
  const LastUse from = memory_[event.from];
  LastUse& to = memory_[event.to];
  if (!from.by_collective && !to.by_collective) {
    record_.uses.push_back({from.written, sequence});
    if (to.used != DataUse::kOlder) record_.uses.push_back({to.used, sequence});
  }
  to = {.written = sequence, .used = sequence, .is_awaited = true};
}

void StepRecorder::on_copy(const CopyEvent& e) noexcept {
  const Duration begin = since_start(e.begin), end = since_start(e.end);
  const std::scoped_lock lock(mutex_);
  try {
    record_.transfers.push_back({e.source,
                                 e.destination,
                                 e.category,
                                 e.phase,
                                 e.nbytes,
                                 begin,
                                 end,
                                 begin,
                                 end,
                                 context().bucket,
                                 this_thread(),
                                 ++sequence_,
                                 e.exchange,
                                 e.carrier});
    note_copy(e, sequence_);
    const bool has_streams =
        e.source.type == DeviceType::cuda || e.destination.type == DeviceType::cuda;
    if (e.streams != nullptr)
      keep_times(timed_transfers_, record_.transfers.size() - 1, e.streams);
    else if (has_streams)  // queued before the record began
      record_.complete = false;
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_side_work(const Work& work,
                                const Stream& side_stream,
                                const std::shared_ptr<const StreamTimes>& times) noexcept {
  const Duration now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  try {
    const Context& c = context();
    record_.side_work.push_back(
        {side_stream.device(), c.phase, work.name, category_of(work.accesses), now, now, c.bucket});
    keep_times(timed_side_work_, record_.side_work.size() - 1, times);
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

int StepRecorder::this_thread() {
  const int threads = static_cast<int>(threads_.size());
  return threads_.try_emplace(std::this_thread::get_id(), threads).first->second;
}

void StepRecorder::on_read(const char* /*op*/, Device device, std::size_t nbytes) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    record_.reads.push_back({device, nbytes, this_thread(), ++sequence_});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_job(const JobEvent& event) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    record_.jobs.push_back({event, this_thread(), ++sequence_});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_begin(const Work& work, const Stream& stream) noexcept {
  const Context& c = context();
  const Duration now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  try {
    open_.push_back({&work,
                     WorkSpan{stream.device(),
                              c.phase,
                              work.kind,
                              work.name,
                              c.rows,
                              c.module_path,
                              this_thread(),
                              category_of(work.accesses),
                              now,
                              now,
                              now,
                              now,
                              c.bucket,
                              cost_of(work),
                              std::nullopt,
                              ++sequence_},
                     point(stream)});
    note_use(work, sequence_);
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_end(const Work& work, const Stream& stream) noexcept {
  const Duration now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  const auto open =
      std::find_if(open_.rbegin(), open_.rend(), [&](const Open& o) { return o.work == &work; });
  if (open == open_.rend()) return;  // begun before the subscription
  if (work.exchange != nullptr) open->span.exchange = *work.exchange;
  open->span.end = now;
  open->span.queued_end = now;
  try {
    record_.work.push_back(std::move(open->span));
    if (open->begin != nullptr)
      keep_times(timed_work_,
                 record_.work.size() - 1,
                 std::make_shared<const StreamTimes>(
                     StreamTimes{{std::move(open->begin)}, {point(stream)}}));
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
  open_.erase(std::next(open).base());
}

}  // namespace tandem::profile
