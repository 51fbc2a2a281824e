// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "stand_in/machine/streams.hpp"

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

// Streams have random priorities, and at some steps get another one: unlike a fair choice at each
// step this lets one stream stay behind for long, or another run far ahead (S. Burckhardt et al.,
// "A randomized scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010).
bool Streams::step() {
  CUstream_st* next = nullptr;
  for (CUstream_st& s : streams_) {
    if (s.tasks.empty() || s.kernel != std::thread::id()) continue;
    const auto& after = s.tasks.front().after;
    if ((after == nullptr || after->done) && (next == nullptr || s.priority > next->priority))
      next = &s;
  }
  if (next == nullptr) return false;
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
  std::size_t queued = 0;
  for (const CUstream_st& s : streams_)
    queued += s.tasks.size();
  for (std::uint64_t n = random_() % (4 + queued); n > 0 && !until(); --n)
    if (!step()) return;
}

}  // namespace tandem::stand_in
