// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/streams.hpp"

#include <algorithm>
#include <utility>

namespace tandem::stand_in {

CUstream_st* Streams::make(int gpu, int level) {
  return &streams_.emplace_back(CUstream_st{gpu, streams_.size(), level, random_()});
}

void Streams::seed(std::uint64_t n) {
  random_.seed(n);
  for (CUstream_st& s : streams_)
    s.priority = random_();
}

void Streams::later(const void* owner, std::function<void()> launch) {
  launches_.push_back({owner, std::move(launch)});
}

bool Streams::launch() {
  if (launches_.empty()) return false;
  const void* const owner = launches_[any(launches_.size())].owner;
  const auto first = std::ranges::find(launches_, owner, &Launch::owner);
  const auto run = std::move(first->run);
  launches_.erase(first);
  run();
  return true;
}

bool Streams::is_launched(const void* owner) const {
  return std::ranges::find(launches_, owner, &Launch::owner) == launches_.end();
}

void Streams::drop(const void* owner) {
  std::erase_if(launches_, [=](const Launch& l) { return l.owner == owner; });
  for (CUstream_st& s : streams_)
    std::erase_if(s.tasks, [=](const Task& t) { return t.owner == owner; });
}

// Streams have random priorities, and at some steps get another one: unlike a fair choice at each
// step this lets one stream stay behind for long, or another run far ahead (S. Burckhardt et al.,
// "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
bool Streams::step() {
  if (!launches_.empty() && any(2) == 0) return launch();
  CUstream_st* next = nullptr;
  for (CUstream_st& s : streams_) {
    if (s.tasks.empty() || s.kernel != std::thread::id()) continue;
    const auto& after = s.tasks.front().after;
    if ((after == nullptr || after->done) && (next == nullptr || s.priority > next->priority))
      next = &s;
  }
  if (next == nullptr) return launch();
  if (random_() % 16 == 0) next->priority = random_();
  const Task task = std::move(next->tasks.front());
  next->tasks.pop_front();
  int& error = errors_[next->gpu];
  if (error == 0 && task.after != nullptr) error = task.after->error;
  if (task.run) task.run();
  if (task.sets == nullptr) return true;
  task.sets->done = true;
  task.sets->error = error;
  task.sets->at = std::chrono::steady_clock::now() + moved_on_;
  return true;
}

void Streams::pass(const std::function<bool()>& until) {
  std::size_t queued = launches_.size();
  for (const CUstream_st& s : streams_)
    queued += s.tasks.size();
  for (std::uint64_t n = random_() % (4 + queued); n > 0 && !until(); --n)
    if (!step()) return;
}

}  // namespace tandem::stand_in
