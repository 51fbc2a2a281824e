// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/call/replica_groups.hpp"

#include <algorithm>
#include <numeric>

#include "tandem/parallel/detail/is_active.hpp"

#include "comm/group.hpp"

namespace tandem::parallel {
namespace {

std::vector<Device> chosen(const std::vector<Device>& devices, const std::vector<int>& places) {
  std::vector<Device> list;
  for (const int d : places)
    list.push_back(devices[static_cast<std::size_t>(d)]);
  return list;
}

}  // namespace

ReplicaGroup::ReplicaGroup(const std::vector<Device>& devices,
                           const std::vector<int>& active,
                           std::vector<int> members,
                           const comm::GroupOptions& options,
                           comm::TransportCache& transports)
    : members_(std::move(members)) {
  if (members_.size() > 1) all_ = comm::make_group(chosen(devices, members_), options, transports);
  if (active.size() < 2) return;
  *with_rows_ = comm::make_group(chosen(devices, active), options, transports);
  for (std::size_t i = 0; i < active.size(); ++i) {
    auto group = std::make_unique<comm::RowGroupAdapter>(*(*with_rows_)[i]);
    row_groups_[active[i]] = {group.release(),
                              [kept = with_rows_](const RowGroup* g) { delete g; }};
  }
}

int ReplicaGroup::rank_of(int device) const {
  return static_cast<int>(std::ranges::find(members_, device) - members_.begin());
}

comm::Communicator* ReplicaGroup::comm_of(int device) const noexcept {
  const auto rank = static_cast<std::size_t>(rank_of(device));
  return rank < all_.size() ? all_[rank].get() : nullptr;
}

std::shared_ptr<RowGroup> ReplicaGroup::row_group_of(int device) const {
  const auto group = row_groups_.find(device);
  return group == row_groups_.end() ? nullptr : group->second;
}

void ReplicaGroup::abort(const std::string& reason) noexcept {
  if (!all_.empty()) all_.front()->abort(reason);
  if (!with_rows_->empty()) with_rows_->front()->abort(reason);
}

void ReplicaGroup::reset() {
  if (!all_.empty()) all_.front()->reset();
  if (!with_rows_->empty()) with_rows_->front()->reset();
}

ReplicaGroup& ReplicaGroups::get(const std::vector<RowRange>& rows, Members members) {
  std::vector<int> active;
  for (std::size_t d = 0; d < rows.size(); ++d) {
    if (detail::is_active(rows, d)) active.push_back(static_cast<int>(d));
  }
  auto& group = groups_[{active, members}];
  if (group != nullptr) {
    for (const auto& used : {group->members(), active})
      if (used.size() > 1) transports_.use(chosen(devices_, used), options_);
    return *group;
  }
  std::vector<int> taking_part = active;
  if (members == Members::all) {
    taking_part.resize(devices_.size());
    std::iota(taking_part.begin(), taking_part.end(), 0);
  } else if (active.empty() || active.front() != 0) {
    taking_part.insert(taking_part.begin(), 0);
  }
  group = std::make_unique<ReplicaGroup>(
      devices_, active, std::move(taking_part), options_, transports_);
  return *group;
}

}  // namespace tandem::parallel
