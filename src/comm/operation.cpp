// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/operation.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

/// The context's abort token wakes nobody, so a rank that waits looks at it this often.
constexpr auto kPoll = std::chrono::milliseconds(2);

}  // namespace

std::string title_of(std::span<const Signature> signatures, std::int64_t number) {
  const char* kind = name(signatures.front().kind);
  if (signatures.size() == 1) return detail::concat(kind, " number ", number);
  return detail::concat(
      signatures.size(), " coalesced collectives (", kind, ", ...) number ", number);
}

std::uint64_t Operation::next_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::string Operation::title() const {
  if (!message) return title_of(signatures, number);
  const int sender = source;
  const std::string from = sender == any_source ? "any rank" : detail::concat("rank ", sender);
  return detail::concat(
      "message from ", from, " to rank ", message->to, " with tag ", message->tag);
}

std::string Operation::desync(const std::string& difference) const {
  if (message) return title() + ": " + difference + "; the two ends must agree";
  return detail::concat("collective number ",
                        number,
                        " (",
                        name(signatures.front().kind),
                        "): ",
                        difference,
                        "; all ranks must make the same calls in the same order");
}

std::size_t Operation::bytes(std::size_t i, int from, int to) const {
  if (message) {
    const bool moves = from != to && source == from && message->to == to;
    return moves ? plan.pieces.front().nbytes() : 0;
  }
  const std::size_t size = parts.size() / signatures.size();
  if (i < plan.traffic.size() && !plan.traffic[i].empty())
    return plan.traffic[i][static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  return bytes_between(signatures[i], std::span(parts).subspan(i * size, size), from, to);
}

bool Operation::has_data() const noexcept {
  return std::ranges::all_of(parts, &Part::has_data);
}

void Operation::start(CollectivePlan what) {
  plan = std::move(what);
  if (!has_data()) plan.slices = 0;
  times.begin = times.end = CopyTimes::now();
  times.exchange = id;
  state.store(plan.slices == 0 ? State::complete : State::running);
}

void Operation::finish() noexcept {
  times.end = CopyTimes::now();
  state.store(State::complete);
  wake();
}

void Operation::fail(std::shared_ptr<const Failure> why) noexcept {
  failure = std::move(why);
  state.store(State::failed);
  wake();
}

// The state was stored before, and a rank that parks counts itself before it looks at the state,
// both sequentially consistent: either it is seen here, or it sees the new state.
void Operation::wake() noexcept {
  if (parked_.load() == 0) return;
  {
    const std::scoped_lock lock(parking_);
  }  // who has counted itself, but not looked, gets there first
  changed_.notify_all();
}

void Operation::park(State seen) {
  std::unique_lock lock(parking_);
  parked_.fetch_add(1);
  changed_.wait_for(lock, kPoll, [&] { return state.load() != seen; });
  parked_.fetch_sub(1);
}

}  // namespace tandem::comm
