// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "comm/started_operation.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/event.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/access.hpp"

#include "comm/exchange_method.hpp"
#include "comm/recorded.hpp"
#include "comm/schedule_pieces.hpp"
#include "runtime/copy_times.hpp"

namespace tandem::comm {
namespace {

/// The output, where the collective writes it on this rank.
Tensor written(const Collective& c, int rank) {
  const bool is_root = rank == c.root;
  if (c.kind == Collective::Kind::broadcast && is_root) return {};
  if (c.kind == Collective::Kind::reduce && !is_root) return {};
  return c.output;
}

Work::Kind kind_of(const Collective& c) {
  return c.kind == Collective::Kind::barrier ? Work::Kind::barrier : Work::Kind::collective;
}

Work work_of(const Collective& c, AccessList accesses) {
  const DType dtype = signature_of(c).dtype;
  return {.kind = kind_of(c), .name = name(c.kind), .dtype = dtype, .accesses = accesses};
}

}  // namespace

StartedOperation::StartedOperation(std::shared_ptr<Meeting> meeting,
                                   int rank,
                                   std::vector<Collective> collectives)
    : meeting_(std::move(meeting)), rank_(rank), collectives_(std::move(collectives)) {
  // No dispatch: it ends with a look at the GPU, and nothing may fail here once the others count
  // on this rank. For the same reason a barrier asks the GPU for nothing.
  in_scopes(Exchange::Point::begin, 0, [&] {
    std::vector<Part> parts;
    parts.reserve(collectives_.size());
    for (Collective& c : collectives_) {
      c.algorithm = meeting_->algorithms().choose(c);
      parts.push_back(part_of(c));
      parts.back().scratch = make_scratch(c);
      if (scratch_.back() != nullptr && !scratch_.back()->has_data()) parts.back().has_data = false;
    }
    const auto moves = [](const Collective& c) { return c.kind != Collective::Kind::barrier; };
    if (on_gpu() && std::ranges::any_of(collectives_, moves))
      parts.front().ready = recorded(stream());  // for all of this rank's
    check_data(parts);
    operation_ = arrive(std::move(parts));
  });
}

StartedOperation::~StartedOperation() {
  if (operation_ == nullptr) return;
  meeting_->leave(*operation_, rank_);
  try {
    follow();
  } catch (...) {  // the memory goes back in the main stream's order
    meeting_->engine().drain();
  }
}

void StartedOperation::wait(std::chrono::milliseconds timeout) {
  if (settled_) return follow_later();
  in_scopes(Exchange::Point::end, 0, [&] {
    meeting_->wait(*operation_, rank_, timeout);
    follow();
  });
  settle_data();
  count();
}

void StartedOperation::settle(std::chrono::milliseconds timeout) {
  if (settled_) return;
  in_scopes(Exchange::Point::settle, 0, [&] { meeting_->wait(*operation_, rank_, timeout); });
  settle_data();
  count();
  for (Collective& c : collectives_)
    c.input = c.output = {};
  settled_ = true;
}

bool StartedOperation::done() const noexcept {
  return operation_->state.load(std::memory_order_acquire) == Operation::State::complete;
}

int StartedOperation::source() const noexcept {
  return collectives_.front().kind == Collective::Kind::recv ? operation_->source.load() : -1;
}

/// What was not carried out has left no values.
void StartedOperation::settle_data() const noexcept {
  if (operation_->has_data()) return;
  for (const Collective& c : collectives_)
    if (const Tensor output = written(c, rank_); output.defined()) output.buffer().lose_data();
}

/// Tells observers of the bytes, and of this rank's side stream.
void StartedOperation::count() const {
  count_side();
  for (std::size_t i = 0; i < collectives_.size(); ++i) {
    const Tensor output = written(collectives_[i], rank_);
    const Buffer* const target = output.defined() ? &output.buffer() : scratch_[i].get();
    if (target == nullptr) continue;
    for (const int from : meeting_->ranks().here()) {
      const std::size_t nbytes = operation_->bytes(i, from, rank_);
      count_copy(meeting_->ranks().device(from), *target, nbytes, operation_->times);
    }
  }
}

void StartedOperation::count_side() const {
  const Collective& c = collectives_.front();
  const auto& message = operation_->message;
  const bool is_both_ends = message && operation_->source == message->to;
  if (operation_->side_times.empty() || (is_both_ends && c.kind == Collective::Kind::send)) return;
  count_side_work(logical_device(meeting_->ranks().device(rank_)).side_stream(),
                  work_of(c, accesses({c.input}, {written(c, rank_)})),
                  operation_->side_times[static_cast<std::size_t>(rank_)]);
}

/// Runs f() within the work of all collectives from the i-th on. Outputs count as written at the
/// start, so that what uses a part of a buffer that has come sees no change when the next one does.
template <class F>
void StartedOperation::in_scopes(Exchange::Point point, std::size_t i, const F& f) const {
  if (i == collectives_.size()) return f();
  const Collective& c = collectives_[i];
  const Tensor output = written(c, rank_);
  Exchange exchange = exchange_of(c, point);
  Work work = work_of(
      c, point == Exchange::Point::begin ? accesses({c.input}, {output}) : accesses({output}, {}));
  work.exchange = &exchange;
  const tandem::detail::WorkScope scope(stream(), work);
  in_scopes(point, i + 1, f);
  if (operation_ != nullptr) exchange.id = operation_->id;
  if (c.algorithm != nullptr) exchange.method.name = c.algorithm->name();
}

Exchange StartedOperation::exchange_of(const Collective& c, Exchange::Point point) const {
  const auto nbytes = [](const Tensor& x) { return x.defined() ? x.nbytes() : 0; };
  const int ranks = meeting_->ranks().size();
  const Problem problem = problem_of(signature_of(c), ranks, meeting_->options());
  return {.id = operation_ == nullptr ? 0 : operation_->id,
          .rank = rank_,
          .ranks = ranks,
          .nbytes = std::max(nbytes(c.input), nbytes(c.output)),
          .point = point,
          .method = method_of(problem)};
}

/// Null where the algorithm needs none.
void* StartedOperation::make_scratch(const Collective& c) {
  scratch_.emplace_back();
  if (!needs_scratch(signature_of(c), meeting_->ranks().size(), rank_, meeting_->options()))
    return nullptr;
  scratch_.back() = std::make_unique<Buffer>(
      meeting_->ranks().device(rank_), c.input.nbytes(), Category::communication);
  return scratch_.back()->data();
}

/// What other processes send and get is data.
void StartedOperation::check_data(const std::vector<Part>& parts) const {
  TANDEM_CHECK(
      meeting_->attendance().has_all_ranks() || std::ranges::all_of(parts, &Part::has_data),
      name(collectives_.front().kind),
      ": ",
      meeting_->ranks().device(rank_),
      " is shape-only, but its group has ranks in other processes, to which data are "
      "sent; use the devices of one process, or leave out @shape-only");
}

std::shared_ptr<Operation> StartedOperation::arrive(std::vector<Part> parts) const {
  const Collective& c = collectives_.front();
  if (c.kind == Collective::Kind::send)
    return meeting_->post(rank_, signature_of(c), {rank_, c.root, c.tag}, std::move(parts.front()));
  if (c.kind == Collective::Kind::recv)
    return meeting_->post(rank_, signature_of(c), {c.root, rank_, c.tag}, std::move(parts.front()));
  return meeting_->arrive(rank_, signatures_of(collectives_), std::move(parts));
}

/// On GPUs the work is queued when the operation is complete: what this rank does next comes after
/// it.
void StartedOperation::follow() {
  if (is_followed_ ||
      operation_->state.load(std::memory_order_acquire) != Operation::State::complete)
    return;
  if (operation_->ended != nullptr)
    operation_->ended->wait(stream(), name(collectives_.front().kind));
  is_followed_ = true;
}

/// As `follow`, told to observers: from here on the stream waits, as a thread of the host would.
void StartedOperation::follow_later() {
  const Exchange exchange{.id = operation_->id,
                          .rank = rank_,
                          .ranks = meeting_->ranks().size(),
                          .point = Exchange::Point::use};
  const Work work{.kind = kind_of(collectives_.front()),
                  .name = name(collectives_.front().kind),
                  .exchange = &exchange};
  const tandem::detail::WorkScope scope(stream(), work);
  follow();
}

bool StartedOperation::on_gpu() const {
  return meeting_->ranks().device(rank_).type == DeviceType::cuda;
}

Stream& StartedOperation::stream() const {
  return logical_device(meeting_->ranks().device(rank_)).stream();
}

}  // namespace tandem::comm
