// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// How a group comes to refuse calls, and what its ranks are told.

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/meeting.hpp"

namespace tandem::comm {
namespace {

using State = Operation::State;

constexpr auto kBetterReason = std::chrono::milliseconds(300);

}  // namespace

// Note [Provisional failures]: a rank whose body throws leaves what is under way before anybody can
// know what was thrown. The others end at once, and wait a moment for the text before they throw.
void Meeting::fail(Failure why) {
  if (failure_ != nullptr && (!failure_->is_provisional || why.is_provisional)) return;
  failure_ = std::make_shared<const Failure>(std::move(why));
  if (!failure_->is_provisional) record_.write(failure_.get());
  end_waiting();
  engine_->abort(*failure_);
  for (const auto& child : children_) {
    const auto meeting = child.lock();
    if (meeting == nullptr) continue;
    const std::scoped_lock lock(meeting->mutex_);
    meeting->fail({Failure::Kind::aborted, failure_->text, failure_->is_provisional});
  }
}

void Meeting::refuse(std::unique_lock<std::mutex>& lock, const std::string& what) {
  std::shared_ptr<const Failure> why = failure_;
  const std::int64_t generation = generation_;
  lock.unlock();
  if (why->is_provisional) why = final_reason(std::move(why), generation);
  why->raise(what);
}

std::shared_ptr<const Failure> Meeting::final_reason(std::shared_ptr<const Failure> why,
                                                     std::int64_t generation) {
  for (const auto end = Clock::now() + kBetterReason;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (generation != generation_ || failure_ == nullptr) return why;
      if (!failure_->is_provisional) return failure_;
      if (Clock::now() >= end) {
        failure_ = std::make_shared<const Failure>(Failure{failure_->kind, failure_->text});
        record_.write(failure_.get());
        return failure_;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Meeting::end_waiting() {
  for (const auto& op : pending_)
    op->fail(failure_);
  pending_.clear();
  posts_.fail(failure_);
}

// Where it was the engine that failed, the group does not know yet.
void Meeting::raise_failure(const Operation& op) {
  std::shared_ptr<const Failure> why = op.failure;
  {
    const std::scoped_lock lock(mutex_);
    if (op.generation == generation_) fail(*why);
  }
  if (why->is_provisional) why = final_reason(std::move(why), op.generation);
  why->raise(op.title());
}

void Meeting::leave(Operation& op, int rank) noexcept {
  const bool unwinds = std::uncaught_exceptions() > 0;
  const auto give_up = [&](const auto& is_in_vain) {
    const std::scoped_lock lock(mutex_);
    const State state = op.state.load();
    if (may_wait_for_ever(state) && is_in_vain(state))
      fail({Failure::Kind::aborted,
            ranks_.name(rank) + " left " + op.title() + " without its result",
            unwinds});
  };
  if (op.state.load() == State::running) engine_->help(op);  // ranks may have come unnoticed
  give_up([&](State state) { return state == State::gathering || attendance().lacks_ranks(op); });
  // All ranks have come, so it ends soon, unless a process has stopped.
  const auto end = Clock::now() + options_.timeout;
  while (op.state.load(std::memory_order_acquire) == State::running) {
    engine_->help(op);
    std::this_thread::yield();
    if (Clock::now() > end) give_up([](State) { return true; });
  }
  record_.note_end(op, rank);
}

void Meeting::abort(const std::string& reason) noexcept {
  const std::scoped_lock lock(mutex_);
  fail(Failure::Kind::aborted, reason);
}

void Meeting::stop(const Failure& why, std::uint64_t group) noexcept {
  const std::scoped_lock lock(mutex_);
  if (attendance().is_of(group)) fail(why);
}

void Meeting::retire(int rank) noexcept {
  const std::scoped_lock lock(mutex_);
  if (failure_ != nullptr) {
    if (failure_->is_provisional) record_.write(failure_.get());
    return;
  }
  failure_ = std::make_shared<const Failure>(Failure{Failure::Kind::aborted,
                                                     ranks_.name(rank) + " was destroyed",
                                                     std::uncaught_exceptions() > 0});
  if (!pending_.empty() || !posts_.empty())
    record_.write(failure_.get());
  else if (options_.dump_at_end)  // it is the group's normal end
    record_.write(nullptr);
  end_waiting();
  std::int64_t reached = kNoLast;
  for (const int here : ranks_.here())
    reached = std::min(reached, reached_[static_cast<std::size_t>(here)]);
  attendance().retire(*failure_, reached);
}

// What all have come to goes on to its end, also where others have it behind them.
void Meeting::note_left(const Failure& why, std::int64_t reached, std::uint64_t group) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!attendance().is_of(group) || reached >= last_) return;
  last_ = reached;
  left_ = why;
  const auto is_beyond = [&](int here) { return reached_[static_cast<std::size_t>(here)] > last_; };
  if (std::ranges::any_of(ranks_.here(), is_beyond)) fail(why);
}

void Meeting::reset() {
  const std::scoped_lock lock(mutex_);
  failure_ =
      std::make_shared<const Failure>(Failure{Failure::Kind::aborted, "the group was reset"});
  end_waiting();
  engine_->abort(*failure_);
  engine_->restart();
  failure_ = nullptr;
  last_ = kNoLast;
  left_.reset();
  ++generation_;
  std::ranges::fill(reached_, 0);
}

}  // namespace tandem::comm
