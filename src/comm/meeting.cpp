// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/meeting.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::comm {
namespace {

using Kind = Collective::Kind;
using State = Operation::State;

/// A hand-over through the kernel costs more than this; with more ranks than cores, yielding lets
/// the one that is waited for run.
constexpr auto kSpin = std::chrono::microseconds(30);
constexpr auto kOthersFirst = std::chrono::milliseconds(200);
constexpr auto kAnswer = std::chrono::milliseconds(100);

}  // namespace

Meeting::Meeting(RankTable ranks, GroupOptions options, std::shared_ptr<Engine> engine)
    : ranks_(std::move(ranks)),
      options_(std::move(options)),
      algorithms_(options_, ranks_.size()),
      engine_(std::move(engine)),
      record_(ranks_, options_, attendance().group_name()),
      reached_(static_cast<std::size_t>(ranks_.size())) {}

std::shared_ptr<Operation> Meeting::arrive(int rank,
                                           std::vector<Signature> signatures,
                                           std::vector<Part> parts) {
  std::shared_ptr<Operation> op;
  bool last = false;
  {
    std::unique_lock lock(mutex_);
    if (next_number(rank) > last_) fail(*left_);
    if (failure_ != nullptr) refuse(lock, title_of(signatures, next_number(rank)));
    const Signature first = signatures.front();
    const std::size_t collectives = signatures.size();
    op = next_operation(rank, signatures);
    record_.note_start(*op, rank, first, collectives, parts.front());
    try {
      check_signatures(*op, rank, signatures);
      const auto size = static_cast<std::size_t>(ranks_.size());
      for (std::size_t i = 0; i < parts.size(); ++i)
        op->parts[i * size + static_cast<std::size_t>(rank)] = std::move(parts[i]);
      ++reached_[static_cast<std::size_t>(rank)];
      last = ++op->arrived == static_cast<int>(ranks_.here().size());
      if (last) start(*op);
    } catch (...) {
      record_.note_end(*op, rank);
      throw;
    }
  }
  if (last) begin(op);
  return op;
}

std::shared_ptr<Operation> Meeting::next_operation(int rank, std::vector<Signature>& signatures) {
  const std::int64_t number = next_number(rank);
  // Ranks reach collectives in order, so the last rank to come completes the oldest one.
  const std::int64_t oldest = pending_.empty() ? number : pending_.front()->number;
  const auto place = static_cast<std::size_t>(number - oldest);
  if (place < pending_.size()) return pending_[place];
  auto op = std::make_shared<Operation>();
  op->number = number;
  op->generation = generation_;
  op->first_rank = rank;
  op->parts.resize(static_cast<std::size_t>(ranks_.size()) * signatures.size());
  op->signatures = std::move(signatures);
  pending_.push_back(op);
  return op;
}

void Meeting::check_signatures(const Operation& op,
                               int rank,
                               const std::vector<Signature>& signatures) {
  if (op.arrived == 0) return;  // it has them
  const std::string text =
      difference(op.signatures, ranks_.name(op.first_rank), signatures, ranks_.name(rank));
  if (text.empty()) return;
  fail(Failure::Kind::desync, op.desync(text));
  failure_->raise(op.title());
}

void Meeting::start(Operation& op) {
  try {
    op.start(engine_->plan(op, options_));
  } catch (const Desync& e) {
    fail(Failure::Kind::desync, op.title() + ": " + e.what());
    failure_->raise(op.title());
  }
  pending_.pop_front();
}

Seat Meeting::seat(Operation& op, int rank) {
  const std::scoped_lock lock(mutex_);
  if (op.seats.empty()) seat_ranks(op);
  return op.seats[static_cast<std::size_t>(rank)];
}

void Meeting::seat_ranks(Operation& op) {
  std::map<int, std::vector<std::pair<int, int>>> members;  // (key, rank) by color
  for (int r = 0; r < ranks_.size(); ++r) {
    const Part& part = op.parts[static_cast<std::size_t>(r)];
    if (part.color >= 0) members[part.color].emplace_back(part.key, r);
  }
  op.seats.resize(static_cast<std::size_t>(ranks_.size()));
  std::erase_if(children_, [](const auto& child) { return child.expired(); });
  for (auto& [color, keys] : members) {
    std::ranges::sort(keys);
    std::vector<int> ranks;
    for (const auto& [key, r] : keys)
      ranks.push_back(r);
    GroupOptions options = options_;
    options.algorithm = "direct";  // one that takes this group's ranks may refuse those
    RankTable table = ranks_.split(ranks);
    if (table.here().empty()) continue;
    const auto meeting = std::make_shared<Meeting>(
        std::move(table), std::move(options), engine_->split(ranks, op.number));
    meeting->attendance().attach(meeting);
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks_.is_here(ranks[i]))
        op.seats[static_cast<std::size_t>(ranks[i])] = {meeting, static_cast<int>(i)};
    children_.push_back(meeting);
    if (failure_ != nullptr) meeting->abort(failure_->text);
  }
}

std::shared_ptr<Operation> Meeting::post(int rank,
                                         const Signature& signature,
                                         const Message& message,
                                         Part part) {
  const bool sends = signature.kind == Kind::send;
  const int other = sends ? message.to : message.from;
  const bool is_elsewhere = other != any_source && !ranks_.is_here(other);
  std::shared_ptr<Operation> op;
  bool first = true;
  {
    std::unique_lock lock(mutex_);
    if (failure_ != nullptr)
      refuse(lock, detail::concat(name(signature.kind), " with tag ", message.tag));
    if (!is_elsewhere) op = take_post(message, signature.kind);
    first = op == nullptr;
    if (!first && sends) op->source = rank;  // where it waits for anyone's
    if (first) {
      op = Posts::make(message, signature, rank);
      op->generation = generation_;
      if (!is_elsewhere) posts_.add(op);
    }
    // To itself a rank has both ends, which are one to the record.
    if (first || op->source != message.to) record_.note_start(*op, rank, signature, 1, part);
    if (!first) check_ends(*op, rank, signature);  // which fails the other end, too
    op->parts[sends ? 0 : 1] = std::move(part);
    if (is_elsewhere) op->state.store(State::running);
    if (!first)
      op->start(make_message_plan(signature, op->parts[0], op->parts[1], op->source, message.to));
  }
  if (!first)
    begin(op);
  else if (is_elsewhere || (other == any_source && !attendance().has_all_ranks()))
    begin_message(op);
  return op;
}

/// The other end of a message, if it is here and waits; it does not wait any more.
std::shared_ptr<Operation> Meeting::take_post(const Message& message, Kind kind) {
  for (;;) {
    auto op = posts_.find(message, kind);
    if (op == nullptr) return nullptr;
    posts_.remove(op);
    // Who waits for anyone's may have got one from another process.
    if (!op->is_taken.exchange(true)) return op;
  }
}

void Meeting::begin_message(const std::shared_ptr<Operation>& op) {
  try {
    engine_->begin_message(op);
  } catch (const std::exception& e) {
    const std::scoped_lock lock(mutex_);
    fail(Failure::Kind::aborted, op->title() + " failed: " + e.what());
    op->fail(failure_);
    throw;
  }
}

void Meeting::check_ends(Operation& op, int rank, Signature signature) {
  const Signature& first = op.signatures.front();
  signature.kind = first.kind;  // the ends have each other's kind and rank
  signature.root = first.root;
  const std::string text =
      difference(first, ranks_.name(op.first_rank), signature, ranks_.name(rank));
  if (text.empty()) return;
  fail(Failure::Kind::desync, op.desync(text));
  op.fail(failure_);
  failure_->raise(op.title());
}

// By the rank that came last.
void Meeting::begin(const std::shared_ptr<Operation>& op) {
  if (op->state.load() != State::running) return op->wake();  // there was nothing to do
  try {
    engine_->begin(op);
  } catch (const std::exception& e) {
    const std::scoped_lock lock(mutex_);
    fail(Failure::Kind::aborted, op->title() + " failed: " + e.what());
    op->fail(failure_);
    throw;
  }
}

void Meeting::wait(Operation& op, int rank, std::chrono::milliseconds timeout) {
  try {
    await(op, rank, timeout);
  } catch (...) {
    record_.note_end(op, rank);
    throw;
  }
  record_.note_end(op, rank);
}

void Meeting::await(Operation& op, int rank, std::chrono::milliseconds timeout) {
  if (op.state.load(std::memory_order_acquire) == State::complete) return;
  std::optional<Patience> patience;
  for (;;) {
    const State seen = op.state.load(std::memory_order_acquire);
    if (seen == State::complete) return;
    if (seen == State::failed) raise_failure(op);
    if (seen == State::running) engine_->help(op);
    const auto changed = [&] { return op.state.load(std::memory_order_acquire) != seen; };
    for (const auto end = Clock::now() + kSpin; !changed() && Clock::now() < end;)
      std::this_thread::yield();
    if (changed()) continue;
    if (!patience) patience = patience_of(timeout);
    if (may_wait_for_ever(seen)) check_patience(op, rank, *patience);
    op.park(seen);
  }
}

bool Meeting::may_wait_for_ever(State state) const noexcept {
  return state == State::gathering || (state == State::running && !engine_->ends_by_itself());
}

Patience Meeting::patience_of(std::chrono::milliseconds timeout) const {
  if (timeout != std::chrono::milliseconds::max()) return Patience(timeout);
  return Patience(options_.timeout, ranks_.devices_here());
}

void Meeting::check_patience(Operation& op, int rank, Patience& patience) {
  const Context& c = context();
  const bool stopped = c.abort != nullptr && c.abort->aborted();
  if (!stopped && (!patience.is_over() || may_hear_more(op, patience))) return;
  const std::scoped_lock lock(mutex_);
  const State state = op.state.load();
  if (!may_wait_for_ever(state)) return;
  if (stopped) {
    fail(Failure::Kind::aborted, c.abort->reason());
    failure_->raise(op.title());
  }
  const std::string missing =
      state == State::gathering ? absence(op) + " did not arrive " : attendance().absence(op) + ' ';
  const std::string text =
      detail::concat(op.title(), ": ", missing, patience.describe(), attendance().silence());
  fail(Failure::Kind::aborted, ranks_.name(rank) + " gave up: " + text);
  throw Timeout(text);
}

// Other processes know better which of their ranks are missing. They are asked, and those that are
// waited for may give up first.
bool Meeting::may_hear_more(const Operation& op, Patience& patience) const {
  if (patience.note_end()) attendance().ask(op);
  if (op.state.load() == State::running) return patience.since_end() < kOthersFirst;
  return patience.since_end() < kAnswer && !attendance().have_answered(op);
}

std::string Meeting::absence(const Operation& op) const {
  if (op.message && op.source == any_source) return "a sender";
  if (op.message) return ranks_.name(op.source + op.message->to - op.first_rank);
  std::string text;
  for (const int r : ranks_.here()) {
    const std::int64_t reached = reached_[static_cast<std::size_t>(r)];
    if (reached >= op.number) continue;
    text += detail::concat(
        text.empty() ? "" : ", ", ranks_.name(r), " (", reached, " collectives so far)");
  }
  const std::string elsewhere = attendance().absence_elsewhere(op);
  return elsewhere.empty() ? text : text + ", " + elsewhere;
}

std::vector<std::int64_t> Meeting::reached() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::int64_t> reached;
  for (const int r : ranks_.here())
    reached.push_back(reached_[static_cast<std::size_t>(r)]);
  return reached;
}

std::string Meeting::flight_record() const {
  std::shared_ptr<const Failure> failure;
  {
    const std::scoped_lock lock(mutex_);
    failure = failure_;
  }
  return record_.json(failure.get());
}

}  // namespace tandem::comm
