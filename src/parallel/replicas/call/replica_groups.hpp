// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/comm/group.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/runtime/context.hpp"

#include "comm/transport_cache.hpp"

namespace tandem::parallel {

/// The devices that take part in a call, and their communicators.
class ReplicaGroup {
 public:
  /// @param active   indices of the devices that have rows, ascending.
  /// @param members  indices of the devices that take part, ascending.
  ReplicaGroup(const std::vector<Device>& devices,
               const std::vector<int>& active,
               std::vector<int> members,
               const comm::GroupOptions& options,
               comm::TransportCache& transports);

  /// Indices of the devices that take part, ascending.
  const std::vector<int>& members() const noexcept { return members_; }
  /// Connects all members; null if the device is alone, or not a member.
  comm::Communicator* comm_of(int device) const noexcept;
  /// Connects the devices that have rows; null if the device is the only one, or has none. It may
  /// outlive this group: the graph of a forward keeps it for its backward.
  std::shared_ptr<RowGroup> row_group_of(int device) const;
  /// The rank of a member among the members.
  int rank_of(int device) const;
  void abort(const std::string& reason) noexcept;
  void reset();

 private:
  std::vector<int> members_;
  using Communicators = std::vector<std::unique_ptr<comm::Communicator>>;
  Communicators all_;  // by position in members_
  std::shared_ptr<Communicators> with_rows_ = std::make_shared<Communicators>();
  std::map<int, std::shared_ptr<RowGroup>> row_groups_;  // over with_rows_, by device
};

/// The groups of a wrapper, one for each set of devices seen so far. They fail together, because a
/// wrapper has one call at a time.
class ReplicaGroups {
 public:
  ReplicaGroups(std::vector<Device> devices, comm::GroupOptions options)
      : devices_(std::move(devices)), options_(std::move(options)) {}

  /// active: the devices that have rows, and device 0, which owns the model. all: all devices.
  enum class Members : std::uint8_t { active, all };
  /// The group for a call. @param rows  each device's rows.
  ReplicaGroup& get(const std::vector<RowRange>& rows, Members members);

 private:
  std::vector<Device> devices_;
  comm::GroupOptions options_;
  comm::TransportCache transports_;
  std::map<std::pair<std::vector<int>, Members>, std::unique_ptr<ReplicaGroup>> groups_;
};

}  // namespace tandem::parallel
