// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/step_record.hpp"

#include <algorithm>
#include <iterator>
#include <new>

#include "tandem/core/error.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/stream_clock.hpp"

namespace tandem::profile {
namespace {

std::optional<Category> category_of(const AccessList& accesses) {
  for (const Access& a : accesses) {
    if (a.direction != Direction::read) return a.buffer->category();
  }
  if (accesses.size > 0) return accesses.begin()->buffer->category();
  return std::nullopt;
}

}  // namespace

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

StepRecorder::StepRecorder() {
  constexpr std::size_t kAtFirst = 1024;  // of a small step, so that it is not measured growing
  record_.work.reserve(kAtFirst);
  record_.transfers.reserve(kAtFirst);
  if constexpr (has_cuda) {
    if (!Runtime::instance().made(DeviceType::cuda).empty())
      clock_ = std::make_shared<cuda::StreamClock>();
    calibrate();
  }
  start_ = Clock::now();
}

void StepRecorder::calibrate() {
  if constexpr (has_cuda) {
    if (clock_ == nullptr) return;
    for (LogicalDevice* gpu : Runtime::instance().made(DeviceType::cuda))
      clock_->calibrate(gpu->stream());
  }
}

StepRecord StepRecorder::take() {
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  record_.duration = since_start(now);
  take_times();
  start_ = now;
  open_.clear();
  return std::exchange(record_, {});
}

std::optional<std::size_t> StepRecorder::mark(const Stream& stream) {
  if constexpr (has_cuda) {
    if (stream.native() != nullptr) {
      try {
        if (clock_ == nullptr) clock_ = std::make_shared<cuda::StreamClock>();
        return clock_->mark(stream);
      } catch (...) {  // the work will meet the error, too
        record_.complete = false;
      }
    }
  }
  return std::nullopt;
}

void StepRecorder::take_times() {
  if constexpr (has_cuda) {
    for (const Marked& m : marked_) {
      WorkSpan& work = record_.work[m.work];
      try {
        const Since begin = since_start(clock_->at(m.begin));
        work.end = since_start(clock_->at(m.end));
        work.begin = begin;
        record_.duration = std::max(record_.duration, work.end);
      } catch (const Error&) {
        record_.complete = false;
      }
    }
    marked_.clear();
    if (clock_ == nullptr) return;
    clock_->clear();
    try {
      calibrate();  // clocks drift
    } catch (const Error&) {
      record_.complete = false;
    }
  }
}

void StepRecorder::on_copy(const CopyEvent& e) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    record_.transfers.push_back({e.source,
                                 e.destination,
                                 e.category,
                                 e.phase,
                                 e.nbytes,
                                 since_start(e.begin),
                                 since_start(e.end)});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_begin(const Work& work, const Stream& stream) noexcept {
  const Context& c = context();
  const Since now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  try {
    const int threads = static_cast<int>(threads_.size());
    const int thread = threads_.try_emplace(std::this_thread::get_id(), threads).first->second;
    open_.push_back({&work,
                     WorkSpan{stream.device(),
                              c.phase,
                              work.kind,
                              work.name,
                              c.rows,
                              c.module_path,
                              thread,
                              category_of(work.accesses),
                              now,
                              now,
                              now,
                              now},
                     mark(stream)});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_end(const Work& work, const Stream& stream) noexcept {
  const Since now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  const auto open =
      std::find_if(open_.rbegin(), open_.rend(), [&](const Open& o) { return o.work == &work; });
  if (open == open_.rend()) return;  // begun before the subscription
  open->span.end = now;
  open->span.queued_end = now;
  try {
    record_.work.push_back(std::move(open->span));
    if (open->mark) {
      if (const auto end = mark(stream))
        marked_.push_back({record_.work.size() - 1, *open->mark, *end});
    }
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
  open_.erase(std::next(open).base());
}

}  // namespace tandem::profile
