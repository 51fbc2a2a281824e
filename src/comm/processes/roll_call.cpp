// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/processes/roll_call.hpp"

#include <iterator>
#include <sstream>
#include <utility>

#include "tandem/core/check.hpp"

#include "comm/meeting.hpp"
#include "world/watch.hpp"

namespace tandem::comm {
namespace {

using tandem::detail::concat;

// Notes are "ask GROUP NUMBER", and "reached GROUP NUMBER" with a number for each rank.
constexpr const char *kAsk = "ask", *kReached = "reached";

}  // namespace

std::shared_ptr<RollCall> RollCall::of(world::World& world) {
  if (world.watch() == nullptr) return nullptr;
  // Groups may outlive the world for a moment, on other threads.
  struct OfWorld {
    explicit OfWorld(world::Watch& watch) : roll_call(std::make_shared<RollCall>(watch)) {
      watch.listen_to_notes(
          [made = roll_call](int process, const std::string& text) { made->hear(process, text); });
    }
    ~OfWorld() { roll_call->close(); }
    OfWorld(const OfWorld&) = delete;
    OfWorld& operator=(const OfWorld&) = delete;
    std::shared_ptr<RollCall> roll_call;
  };
  const auto kept =
      world.keep("roll call", [&] { return std::make_shared<OfWorld>(*world.watch()); });
  return std::static_pointer_cast<OfWorld>(kept)->roll_call;
}

RollCall::RollCall(world::Watch& watch) : watch_(&watch) {}

void RollCall::close() noexcept {
  watch_->listen_to_notes({});
  const std::scoped_lock lock(mutex_);
  watch_ = nullptr;
}

void RollCall::add(const std::string& group, std::weak_ptr<Meeting> meeting) {
  const std::scoped_lock lock(mutex_);
  groups_[group] = {std::move(meeting)};
}

void RollCall::remove(const std::string& group) noexcept {
  const std::scoped_lock lock(mutex_);
  groups_.erase(group);
}

void RollCall::ask(const std::string& group, std::int64_t number) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    const auto known = groups_.find(group);
    if (known == groups_.end()) return;
    if (std::exchange(known->second.number, number) != number) known->second.answers.clear();
  }
  say(concat(kAsk, ' ', group, ' ', number));
}

std::vector<std::int64_t> RollCall::answer(const std::string& group,
                                           std::int64_t number,
                                           int process) const {
  const std::scoped_lock lock(mutex_);
  const auto known = groups_.find(group);
  if (known == groups_.end() || known->second.number != number) return {};
  const auto answer = known->second.answers.find(process);
  if (answer == known->second.answers.end()) return {};
  return answer->second;
}

void RollCall::hear(int process, const std::string& text) {
  std::istringstream words(text);
  std::string what, name;
  std::int64_t number = 0;
  words >> what >> name >> number;
  std::shared_ptr<Meeting> meeting;
  {
    const std::scoped_lock lock(mutex_);
    const auto known = groups_.find(name);
    if (known == groups_.end()) return;
    if (what == kReached && known->second.number == number)
      known->second.answers[process] = {std::istream_iterator<std::int64_t>(words), {}};
    if (what == kAsk) meeting = known->second.meeting.lock();
  }
  if (meeting == nullptr) return;
  std::string answer = concat(kReached, ' ', name, ' ', number);
  for (const std::int64_t reached : meeting->reached())
    answer += concat(' ', reached);
  say(answer);
}

void RollCall::say(const std::string& text) noexcept {
  const std::scoped_lock lock(mutex_);
  if (watch_ != nullptr) watch_->note(text);
}

}  // namespace tandem::comm
