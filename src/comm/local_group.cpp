// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/local_group.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

#include "comm/algorithms/list.hpp"

namespace tandem::comm {
namespace {

using State = Operation::State;

/// A hand-over through the kernel costs more than this; with more ranks than cores, yielding lets
/// the one that is waited for run.
constexpr auto kSpin = std::chrono::microseconds(30);
/// The context's abort token wakes nobody, so it is looked at.
constexpr auto kPoll = std::chrono::milliseconds(2);

/// "all_reduce number 3", "2 coalesced collectives (all_reduce, ...) number 4".
std::string title_of(std::span<const Signature> signatures, std::int64_t number) {
  const char* kind = name(signatures.front().kind);
  if (signatures.size() == 1) return detail::concat(kind, " number ", number);
  return detail::concat(
      signatures.size(), " coalesced collectives (", kind, ", ...) number ", number);
}

}  // namespace

void Failure::raise(const std::string& what) const {
  if (kind == Kind::desync) throw Desync(text);
  throw CommAborted(what + ": stopped, since " + text);
}

std::string Operation::title() const {
  if (!message) return title_of(signatures, number);
  const std::string from =
      message->from == any_source ? "any rank" : detail::concat("rank ", message->from);
  return detail::concat(
      "message from ", from, " to rank ", message->to, " with tag ", message->tag);
}

std::size_t Operation::bytes(std::size_t i, int from, int to) const {
  if (message) {
    const bool moves = from != to && message->from == from && message->to == to;
    return moves ? plan.pieces.front().nbytes() : 0;
  }
  const std::size_t size = parts.size() / signatures.size();
  if (signatures[i].algorithm != nullptr)
    return plan.traffic[i][static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  return bytes_between(signatures[i], std::span(parts).subspan(i * size, size), from, to);
}

LocalGroup::LocalGroup(std::vector<Device> devices,
                       GroupOptions options,
                       std::shared_ptr<Transport> transport)
    : devices_(std::move(devices)),
      options_(std::move(options)),
      transport_(std::move(transport)),
      recorders_(devices_.size()),
      reached_(devices_.size()) {
  const Algorithm& own = algorithm(options_.algorithm);
  if (&own == &direct()) return;
  const std::string refusal = own.refusal({.ranks = size(), .group = options_.group});
  if (!refusal.empty()) throw InvalidArgument("make_group: " + refusal);
  algorithm_ = &own;
}

const Algorithm* LocalGroup::choose(const Collective& c) const {
  if (c.algorithm == nullptr)
    return algorithm_ != nullptr && algorithm_->has(c.kind) ? algorithm_ : nullptr;
  if (c.algorithm == &direct()) return nullptr;
  const Problem problem{.kind = c.kind, .ranks = size(), .group = options_.group};
  const std::string refusal = c.algorithm->refusal(problem);
  if (!refusal.empty()) throw InvalidArgument(refusal);
  return c.algorithm;
}

std::shared_ptr<Operation> LocalGroup::arrive(int rank,
                                              std::vector<Signature> signatures,
                                              std::vector<Part> parts) {
  std::shared_ptr<Operation> op;
  bool last = false;
  {
    const std::scoped_lock lock(mutex_);
    if (failure_ != nullptr) failure_->raise(title_of(signatures, next_number(rank)));
    const Signature first = signatures.front();
    const std::size_t collectives = signatures.size();
    op = next_operation(rank, signatures);
    note_start(*op, rank, first, collectives, parts.front());
    try {
      check_signatures(*op, rank, signatures);
      for (std::size_t i = 0; i < parts.size(); ++i)
        op->parts[i * devices_.size() + static_cast<std::size_t>(rank)] = std::move(parts[i]);
      ++reached_[static_cast<std::size_t>(rank)];
      last = ++op->arrived == size();
      if (last) begin(*op);
    } catch (...) {
      note_end(*op, rank);
      throw;
    }
  }
  if (last) run(*op);
  return op;
}

std::shared_ptr<Operation> LocalGroup::next_operation(int rank,
                                                      std::vector<Signature>& signatures) {
  const std::int64_t number = next_number(rank);
  // Ranks reach collectives in order, so the last rank to come completes the oldest one.
  const std::int64_t oldest = pending_.empty() ? number : pending_.front()->number;
  const auto place = static_cast<std::size_t>(number - oldest);
  if (place < pending_.size()) return pending_[place];
  auto op = std::make_shared<Operation>();
  op->number = number;
  op->first_rank = rank;
  op->parts.resize(devices_.size() * signatures.size());
  op->signatures = std::move(signatures);
  pending_.push_back(op);
  return op;
}

void LocalGroup::check_signatures(const Operation& op,
                                  int rank,
                                  const std::vector<Signature>& signatures) {
  if (op.arrived == 0) return;  // it has them
  const std::string text =
      difference(op.signatures, rank_name(op.first_rank), signatures, rank_name(rank));
  if (text.empty()) return;
  fail(Failure::Kind::desync,
       detail::concat("collective number ",
                      op.number,
                      " (",
                      name(op.signatures.front().kind),
                      "): ",
                      text,
                      "; all ranks make the same calls in the same order"));
  failure_->raise(op.title());
}

void LocalGroup::begin(Operation& op) {
  try {
    if (op.signatures.front().kind == Collective::Kind::split) seat_ranks(op);
    start(op, make_plan(op.signatures, op.parts, options_));
  } catch (const Desync& e) {
    fail(Failure::Kind::desync, op.title() + ": " + e.what());
    failure_->raise(op.title());
  }
  pending_.pop_front();
}

void LocalGroup::start(Operation& op, Plan plan) {
  op.plan = std::move(plan);
  op.times.begin = op.times.end = CopyTimes::now();
  op.state.store(op.plan.slices == 0 ? State::complete : State::running);
}

void LocalGroup::fail(Failure::Kind kind, const std::string& text) {
  if (failure_ != nullptr) return;
  failure_ = std::make_shared<const Failure>(Failure{kind, text});
  write_record();
  end_waiting();
  for (const auto& child : children_) {
    if (const auto group = child.lock()) group->abort(text);
  }
}

void LocalGroup::end_waiting() {
  for (auto* waiting : {&pending_, &posts_}) {
    for (const auto& op : *waiting) {
      op->failure = failure_;
      op->state.store(State::failed);
      op->changed.notify_all();
    }
    waiting->clear();
  }
}

// By the rank that came last.
void LocalGroup::run(Operation& op) {
  if (on_gpus()) return queue(op);
  // A single slice is done here before anyone could wake up to help.
  if (op.plan.slices != 1) wake(op);
  work(op);
}

void LocalGroup::work(Operation& op) noexcept {
  for (;;) {
    const std::int64_t slice = op.claimed.fetch_add(1, std::memory_order_relaxed);
    if (slice >= op.plan.slices) return;
    // What comes first was claimed first: other threads are at it.
    for (const std::int64_t after = op.plan.piece_of(slice).after;
         op.done.load(std::memory_order_acquire) < after;)
      std::this_thread::yield();
    op.plan.run(slice);
    // Release: the slice's result; acquire: those of the others, for whoever completes.
    if (op.done.fetch_add(1, std::memory_order_acq_rel) + 1 == op.plan.slices) {
      op.times.end = CopyTimes::now();
      op.state.store(State::complete);
      wake(op);
    }
  }
}

// By the rank that came last, for all: kernels and copies do not wait for each other's threads.
void LocalGroup::queue(Operation& op) {
  if (op.state.load() != State::running) return wake(op);
  try {
    // NCCL wants the calls of one communicator one after the other.
    const std::scoped_lock one(queueing_);
    if constexpr (has_cuda) queue_on_gpus(*this, op);
    op.times.end = CopyTimes::now();
    op.state.store(State::complete);
  } catch (const std::exception& e) {
    if constexpr (has_cuda) drain_gpus(*this);
    const std::scoped_lock lock(mutex_);
    fail(Failure::Kind::aborted, op.title() + " failed: " + e.what());
    op.failure = failure_;
    op.state.store(State::failed);
    op.changed.notify_all();
    throw;
  }
  wake(op);
}

// The state was stored before, and a rank that parks counts itself before it looks at the state,
// both sequentially consistent: either it is seen here, or it sees the new state.
void LocalGroup::wake(Operation& op) noexcept {
  if (op.parked.load() == 0) return;
  {
    const std::scoped_lock lock(mutex_);
  }  // who has counted itself, but not looked, gets there first
  op.changed.notify_all();
}

void LocalGroup::park(Operation& op, State seen) {
  std::unique_lock lock(mutex_);
  op.parked.fetch_add(1);
  op.changed.wait_for(lock, kPoll, [&] { return op.state.load() != seen; });
  op.parked.fetch_sub(1);
}

void LocalGroup::wait(Operation& op, int rank, std::chrono::milliseconds timeout) {
  try {
    await(op, rank, timeout);
  } catch (...) {
    note_end(op, rank);
    throw;
  }
  note_end(op, rank);
}

void LocalGroup::await(Operation& op, int rank, std::chrono::milliseconds timeout) {
  if (op.state.load(std::memory_order_acquire) == State::complete) return;
  std::optional<Patience> patience;
  for (;;) {
    const State seen = op.state.load(std::memory_order_acquire);
    if (seen == State::complete) return;
    if (seen == State::failed) op.failure->raise(op.title());
    if (seen == State::running && !on_gpus()) work(op);
    const auto changed = [&] { return op.state.load(std::memory_order_acquire) != seen; };
    for (const auto end = Clock::now() + kSpin; !changed() && Clock::now() < end;)
      std::this_thread::yield();
    if (changed()) continue;
    if (!patience) patience = patience_of(timeout);
    if (seen == State::gathering) check_patience(op, rank, *patience);
    park(op, seen);
  }
}

LocalGroup::Patience LocalGroup::patience_of(std::chrono::milliseconds timeout) const {
  if (timeout != timeout.max()) return {timeout, Deadline(timeout)};
  return {options_.timeout, Deadline(options_.timeout, devices_)};
}

void LocalGroup::check_patience(Operation& op, int rank, const Patience& patience) {
  const Context& c = context();
  const bool stopped = c.abort != nullptr && c.abort->aborted();
  const bool by_context = c.deadline.passed();
  if (!stopped && !by_context && !patience.deadline.passed()) return;
  const std::scoped_lock lock(mutex_);
  if (op.state.load() != State::gathering) return;  // all ranks are there: it runs to its end
  if (stopped) {
    fail(Failure::Kind::aborted, c.abort->reason());
    failure_->raise(op.title());
  }
  const std::string text = detail::concat(
      op.title(),
      ": ",
      absence(op),
      " did not come ",
      by_context
          ? "before the step's deadline"
          : detail::concat("within ", static_cast<double>(patience.timeout.count()) / 1000, " s"),
      "; ",
      (by_context ? c.deadline : patience.deadline).describe());
  fail(Failure::Kind::aborted, rank_name(rank) + " gave up: " + text);
  throw Timeout(text);
}

std::string LocalGroup::absence(const Operation& op) const {
  if (op.message && op.message->from == any_source) return "a sender";
  if (op.message) return rank_name(op.message->from + op.message->to - op.first_rank);
  std::string text;
  for (int r = 0; r < size(); ++r) {
    const std::int64_t reached = reached_[static_cast<std::size_t>(r)];
    if (reached >= op.number) continue;
    text += detail::concat(
        text.empty() ? "" : ", ", rank_name(r), " (", reached, " collectives so far)");
  }
  return text;
}

void LocalGroup::leave(Operation& op, int rank) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (op.state.load() == State::gathering) {
      fail(Failure::Kind::aborted, rank_name(rank) + " left " + op.title() + " without its result");
    }
  }
  while (op.state.load(std::memory_order_acquire) == State::running) {
    if (!on_gpus()) work(op);  // else the rank that came last is queueing it
    std::this_thread::yield();
  }
  note_end(op, rank);
}

void LocalGroup::abort(const std::string& reason) noexcept {
  const std::scoped_lock lock(mutex_);
  fail(Failure::Kind::aborted, reason);
}

void LocalGroup::retire(int rank) noexcept {
  const std::scoped_lock lock(mutex_);
  if (failure_ != nullptr) return;
  failure_ = std::make_shared<const Failure>(
      Failure{Failure::Kind::aborted, rank_name(rank) + " was destroyed"});
  if (!pending_.empty() || !posts_.empty()) write_record();  // else it is the group's normal end
  end_waiting();
}

void LocalGroup::reset() {
  const std::scoped_lock lock(mutex_);
  failure_ =
      std::make_shared<const Failure>(Failure{Failure::Kind::aborted, "the group was reset"});
  end_waiting();
  failure_ = nullptr;
  std::ranges::fill(reached_, 0);
}

std::string LocalGroup::rank_name(int rank) const {
  return detail::concat("rank ", rank, " (", device(rank), ")");
}

}  // namespace tandem::comm
