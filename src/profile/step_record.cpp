// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/step_record.hpp"

#include <algorithm>
#include <iterator>
#include <new>

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

StepRecorder::StepRecorder() : start_(Clock::now()) {
  constexpr std::size_t kAtFirst = 1024;  // of a small step, so that it is not measured growing
  record_.work.reserve(kAtFirst);
  record_.transfers.reserve(kAtFirst);
}

StepRecord StepRecorder::take() {
  const std::scoped_lock lock(mutex_);
  const auto now = Clock::now();
  record_.duration = since_start(now);
  start_ = now;
  open_.clear();
  return std::exchange(record_, {});
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

void StepRecorder::on_work_begin(const Work& work, Device device) noexcept {
  const Context& c = context();
  const Since now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  try {
    const int threads = static_cast<int>(threads_.size());
    const int thread = threads_.try_emplace(std::this_thread::get_id(), threads).first->second;
    open_.emplace_back(&work,
                       WorkSpan{device,
                                c.phase,
                                work.kind,
                                work.name,
                                c.rows,
                                c.module_path,
                                thread,
                                category_of(work.accesses),
                                now,
                                now});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_end(const Work& work, Device) noexcept {
  const Since now = since_start(Clock::now());
  const std::scoped_lock lock(mutex_);
  const auto open =
      std::find_if(open_.rbegin(), open_.rend(), [&](const auto& o) { return o.first == &work; });
  if (open == open_.rend()) return;  // begun before the subscription
  open->second.end = now;
  try {
    record_.work.push_back(std::move(open->second));
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
  open_.erase(std::next(open).base());
}

}  // namespace tandem::profile
