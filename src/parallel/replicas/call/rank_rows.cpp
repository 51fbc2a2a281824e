// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/rank_rows.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::parallel {
namespace {

/// A communicator of the active ranks, with the adapter that presents it.
struct ActiveRanks {
  explicit ActiveRanks(std::unique_ptr<comm::Communicator> c) : comm(std::move(c)), group(*comm) {}
  static std::shared_ptr<RowGroup> make(std::unique_ptr<comm::Communicator> comm) {
    const auto ranks = std::make_shared<ActiveRanks>(std::move(comm));
    return {ranks, &ranks->group};
  }
  std::unique_ptr<comm::Communicator> comm;
  comm::RowGroupAdapter group;
};

}  // namespace

RankRows::RankRows(comm::Communicator& comm)
    : comm_(comm),
      group_(std::make_shared<comm::RowGroupAdapter>(comm)),
      members_(static_cast<std::size_t>(comm.size()), true) {}

ForwardRows RankRows::exchange(std::int64_t rows,
                               GradientSync sync,
                               std::int64_t order,
                               std::uint64_t forwards) const {
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  // The lowest bit says whether the rank reduces its gradients.
  const std::uint64_t count = forwards << 1 | (sync == GradientSync::on ? 1 : 0);
  const std::array<std::int64_t, 3> own{rows, static_cast<std::int64_t>(count), order};
  const Tensor mine = from_host(std::span<const std::int64_t>(own), {3}, comm_.device());
  const Tensor all = zeros({3 * comm_.size()}, {.dtype = DType::i64, .device = comm_.device()});
  comm_.all_gather(mine, all);
  const std::vector<std::int64_t> values = all.to_host<std::int64_t>();
  ForwardRows forward;
  for (std::size_t at = 0; at < values.size(); at += own.size()) {
    forward.rows.push_back(values[at]);
    const auto said = static_cast<std::uint64_t>(values[at + 1]);
    if (values[at] >= 0) forward.syncs = (said & 1) != 0;
    forward.forwards = std::max(forward.forwards, said >> 1);
    forward.same_order &= values[at + 2] == order;
  }
  return forward;
}

void RankRows::regroup(const ForwardRows& forward) {
  std::vector<bool> members;
  for (int r = 0; r < comm_.size(); ++r)
    members.push_back(forward.is_active(r));
  if (members == members_) return;
  auto own = comm_.split(members[static_cast<std::size_t>(comm_.rank())] ? 0 : -1);
  group_ = own == nullptr ? nullptr : ActiveRanks::make(std::move(own));
  members_ = std::move(members);
}

}  // namespace tandem::parallel
