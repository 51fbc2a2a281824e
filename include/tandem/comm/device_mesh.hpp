// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/comm/communicator.hpp"

namespace tandem::comm {

/// An axis of a mesh: its name, and how many ranks lie along it.
struct MeshAxis {
  std::string name;
  int size = 1;
};

/// The ranks of a group as a grid with named axes, as PyTorch's DeviceMesh: rank r is at the r-th
/// place in row-major order. Along each axis, the ranks that differ in nothing else are a group.
///
///     comm::DeviceMesh mesh(rank.comm(), {{"replicate", 2}, {"shard", 2}});
///     mesh.group("shard").all_reduce(x);  // ranks 0 and 1; ranks 2 and 3
///
/// To be used on the rank's thread. Copies share the groups.
class DeviceMesh {
 public:
  /// Collective: every rank gives the same axes.
  ///
  /// @param comm  outlives the mesh.
  /// @throws InvalidArgument  the sizes do not multiply to the number of ranks, a size is less than
  ///                          1, or a name is empty or comes twice.
  /// @cost  a split of the group for each axis.
  DeviceMesh(Communicator& comm, std::vector<MeshAxis> axes);

  const std::vector<MeshAxis>& axes() const noexcept { return axes_; }
  int ndim() const noexcept { return static_cast<int>(axes_.size()); }
  /// The ranks of the whole mesh.
  Communicator& comm() const noexcept { return *comm_; }
  bool has(const std::string& axis) const noexcept;
  /// The group along an axis in which this rank is. @throws InvalidArgument  no such axis.
  Communicator& group(const std::string& axis) const;
  int size(const std::string& axis) const { return group(axis).size(); }
  /// This rank's place along an axis.
  int coordinate(const std::string& axis) const { return group(axis).rank(); }
  /// The mesh of some of the axes, in their order here, in which this rank is. Collective.
  ///
  /// @throws InvalidArgument  no such axis, or one comes twice.
  DeviceMesh sub_mesh(const std::vector<std::string>& axes) const;

 private:
  DeviceMesh() = default;
  std::size_t index_of(const std::string& axis) const;
  /// This rank's coordinates, by axis.
  std::vector<int> coordinates() const;

  std::vector<MeshAxis> axes_;
  std::vector<std::shared_ptr<Communicator>> groups_;  // by axis
  Communicator* comm_ = nullptr;
  std::shared_ptr<Communicator> own_;  // of a sub-mesh: what comm_ points to
};

}  // namespace tandem::comm
