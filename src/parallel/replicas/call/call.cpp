// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/call.hpp"

#include <algorithm>

#include "tandem/autograd/tape_context.hpp"
#include "tandem/parallel/detail/is_active.hpp"

#include "parallel/errors/failures.hpp"
#include "parallel/replicas/call/one_process.hpp"

namespace tandem::parallel {

Call::Call(const std::vector<std::unique_ptr<DeviceReplica>>& replicas,
           const std::vector<RowRange>& rows,
           ReplicaGroup& g)
    : parts(replicas.size()),
      batch{rows.front().begin, rows.back().end},
      group(g),
      processes(&OneProcess::get()) {
  for (std::size_t d = 0; d < parts.size(); ++d) {
    Part& part = parts[d];
    part.replica = replicas[d].get();
    part.rows = part.at = rows[d];
    part.active = detail::is_active(rows, d);
    part.comm = group.comm_of(static_cast<int>(d));
    part.whole.rows = batch.size();
  }
}

std::vector<RowRange> Call::rows() const {
  std::vector<RowRange> rows;
  for (const Part& part : parts)
    rows.push_back(part.rows);
  return rows;
}

std::vector<RowRange> Call::last_rows() const {
  return micro_batches.empty() ? rows() : micro_batches.back().rows;
}

int Call::working() const {
  if (batch.size() == 0) return static_cast<int>(group.members().size());
  const auto with_rows =
      std::ranges::count_if(parts, [](const Part& part) { return part.row_count() > 0; });
  return std::max(1, static_cast<int>(with_rows));
}

OutsideByDevice Call::outside() const {
  OutsideByDevice all;
  for (const Part& part : parts)
    all.push_back(part.outside);
  return all;
}

bool Call::has_outside() const {
  return std::ranges::any_of(parts, [](const Part& part) {
    return part.outside != nullptr && !part.outside->entries().empty();
  });
}

bool Call::drew() const {
  return std::ranges::any_of(
      parts, [](const Part& part) { return part.frame != nullptr && part.frame->drew; });
}

std::exception_ptr Call::commit_error() const noexcept {
  std::exception_ptr first;
  for (const Part& part : parts)
    if (part.commit_error != nullptr && (first == nullptr || is_secondary(first)))
      first = part.commit_error;
  return first;
}

double Call::Part::share_of_process(const Call& call) const {
  if (whole.rows == 0) return 1;
  return static_cast<double>(call.batch.size()) / static_cast<double>(whole.rows);
}

void Call::abort(const std::string& reason) noexcept {
  processes->abort(reason);
  group.abort(reason);
  for (const MicroBatch& part : micro_batches)
    if (part.group != &group) part.group->abort(reason);
}

void Call::reset() {
  processes->reset();
  group.reset();
  for (const MicroBatch& part : micro_batches)
    if (part.group != &group) part.group->reset();
}

// Note [Cancelled or agreed]: a call ends one way or the other. Device 0 seals it before it votes,
// so that no cancelled call can be agreed to, and what comes after the vote is not cancelled.
void Call::seal() {
  Ending open = Ending::open;
  if (!ending_.compare_exchange_strong(open, Ending::sealed) && open == Ending::cancelled)
    throw CommAborted("DataParallel: the call was cancelled");
}

void Call::cancel(const std::string& reason) noexcept {
  Ending open = Ending::open;
  if (!ending_.compare_exchange_strong(open, Ending::cancelled)) return;
  stop->abort(reason);
  abort(reason);
}

void exchange_rows(const Call& call, Call::Part& part) {
  part.whole = part.last = call.processes->exchange(part, part.row_count(), call.batch.size());
}

void enter_rows(Context& c,
                const Call& call,
                const Call::Part& part,
                RowRange rows,
                const ReplicaGroup& group) {
  c.rows = part.in_whole(rows);
  c.batch_rows = part.whole.rows;
  autograd::change_tape_context(
      c, [&](autograd::TapeContext& t) { t.row_group = call.processes->row_group(part, group); });
}

void agree(Call& call, Call::Part& part) {
  if (part.is_first()) call.seal();
  part.agreed = call.processes->agree(part, {part.sum, part.weight, call.has_no_effect});
  if (part.agreed.has_no_effect) call.has_no_effect = true;
}

void finish_reduction(const Call& call, Call::Part& part) {
  BucketReducer& reducer = *part.replica->reducer();
  in_phase(part, Phase::reduce, [&] {
    reducer.finish();
    call.processes->note_used(part, reducer.tally().used());
  });
}

void note_update(Call::Part& part, const std::function<void()>& update) {
  const optim::Arena& values = *part.replica->parameters();
  const optim::Arena::Versions before = values.versions();
  update();
  const optim::Arena::Versions after = values.versions();
  part.updated.resize(before.size());
  for (std::size_t p = 0; p < before.size(); ++p)
    part.updated[p] = before[p] != after[p] ? 1 : 0;
}

}  // namespace tandem::parallel
