// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/profile/step_record.hpp"

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
  const std::scoped_lock lock(mutex_);
  try {
    const Since now = since_start(Clock::now());
    const int threads = static_cast<int>(threads_.size());
    open_.insert_or_assign(
        &work,
        WorkSpan{device,
                 c.phase,
                 work.kind,
                 work.name,
                 c.rows,
                 c.module_path,
                 threads_.try_emplace(std::this_thread::get_id(), threads).first->second,
                 category_of(work.accesses),
                 now,
                 now});
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

void StepRecorder::on_work_end(const Work& work, Device) noexcept {
  const auto now = Clock::now();
  const std::scoped_lock lock(mutex_);
  auto open = open_.extract(&work);
  if (open.empty()) return;  // begun before the subscription
  open.mapped().end = since_start(now);
  try {
    record_.work.push_back(open.mapped());
  } catch (const std::bad_alloc&) {
    record_.complete = false;
  }
}

}  // namespace tandem::profile
