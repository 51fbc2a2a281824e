// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "parallel/ranks/rank_state.hpp"

namespace tandem::parallel {
namespace {

/// The ranks that are active as the replicas of a batch; tapes keep them.
struct ActiveRows {
  explicit ActiveRows(std::unique_ptr<comm::Communicator> c) : comm(std::move(c)), group(*comm) {}
  static std::shared_ptr<RowGroup> make(std::unique_ptr<comm::Communicator> comm) {
    const auto rows = std::make_shared<ActiveRows>(std::move(comm));
    return {rows, &rows->group};
  }
  std::unique_ptr<comm::Communicator> comm;
  comm::RowGroupAdapter group;
};

}  // namespace

// Note [Joined ranks]: before each forward the ranks tell each other their rows, or that they have
// no more batches. A rank that has joined goes through the same exchanges as the others from there
// on: buffers, buckets (of zeros), flags of used parameters. What the ranks' forwards exchange is
// among those that are active: the group of their rows is made anew when one joins.

std::int64_t ForwardRows::all_rows() const {
  std::int64_t sum = 0;
  for (const std::int64_t n : rows)
    sum += std::max<std::int64_t>(n, 0);
  return sum;
}

RowRange ForwardRows::range_of(int rank) const {
  std::int64_t begin = 0;
  for (int r = 0; r < rank; ++r)
    begin += std::max<std::int64_t>(rows[static_cast<std::size_t>(r)], 0);
  return {begin, begin + rows[static_cast<std::size_t>(rank)]};
}

int ForwardRows::active() const {
  return static_cast<int>(std::ranges::count_if(rows, [](std::int64_t n) { return n >= 0; }));
}

int ForwardRows::first_active() const {
  for (int r = 0; r < static_cast<int>(rows.size()); ++r)
    if (is_active(r)) return r;
  return -1;
}

ForwardRows RankReplica::State::exchange_rows(std::int64_t rows) {
  const std::array<std::int64_t, 2> own{rows, sync == GradientSync::on ? 1 : 0};
  const Tensor mine = from_host(std::span<const std::int64_t>(own), {2}, comm.device());
  const Tensor all = zeros({2 * comm.size()}, {.dtype = DType::i64, .device = comm.device()});
  comm.all_gather(mine, all);
  const std::vector<std::int64_t> values = all.to_host<std::int64_t>();
  ForwardRows forward;
  for (std::size_t r = 0; 2 * r < values.size(); ++r) {
    forward.rows.push_back(values[2 * r]);
    if (values[2 * r] >= 0) forward.syncs = values[2 * r + 1] != 0;
  }
  return forward;
}

ForwardRows RankReplica::State::prepare(std::int64_t rows) {
  if (rebuild_order) rebuild_buckets();
  const ForwardRows forward = exchange_rows(rows);
  const int first = forward.first_active();
  if (first < 0) return forward;
  authority = first;
  if (joining && joining->throw_on_early_termination && forward.active() < comm.size()) {
    std::string names;
    for (int r = 0; r < comm.size(); ++r)
      if (!forward.is_active(r)) names += (names.empty() ? "rank " : ", rank ") + std::to_string(r);
    throw InvalidArgument(tandem::detail::concat(
        "join: ", names, " has no more batches, and throw_on_early_termination is set"));
  }
  std::vector<bool> members;
  for (int r = 0; r < comm.size(); ++r)
    members.push_back(forward.is_active(r));
  if (members != row_members) {
    auto own = comm.split(members[static_cast<std::size_t>(comm.rank())] ? 0 : -1);
    row_group = own == nullptr ? nullptr : ActiveRows::make(std::move(own));
    row_members = std::move(members);
  }
  const bool present = joining && joining->divide == Divide::by_present_world_size &&
                       options.average == Average::world_size;
  replica.reducer()->set_factor(1.0 / (present ? forward.active() : comm.size()));
  if (options.broadcast_buffers && module.is_training()) {
    for (const Tensor& buffer : module.buffers())
      comm.broadcast(buffer, first);
  }
  return forward;
}

void RankReplica::State::shadow() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  while (true) {
    const ForwardRows forward = prepare(-1);
    if (forward.first_active() < 0) return;
    if (!forward.syncs) continue;
    for (std::size_t p = 0; p < params().layout().places().size(); ++p)
      params().tensor(p).set_grad({});
    unreduced = false;
    arm(GradientSync::on);
    finish();
  }
}

void RankReplica::begin_join(const JoinOptions& options) {
  State& s = *state_;
  TANDEM_CHECK(!s.joining, "join: called inside of itself");
  s.joining = options;
}

void RankReplica::cancel_join() noexcept {
  state_->joining.reset();
  state_->has_joined = false;
}

void RankReplica::end_join() {
  State& s = *state_;
  if (s.is_reducing()) s.finish();
  s.has_joined = true;
  s.shadow();
  s.send(s.authority);
  cancel_join();
}

}  // namespace tandem::parallel
