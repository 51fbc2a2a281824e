// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/comm/device_mesh.hpp"

#include <algorithm>
#include <utility>

#include "tandem/core/check.hpp"

namespace tandem::comm {
namespace {

using detail::concat;

std::string title_of(const std::vector<MeshAxis>& axes) {
  std::string title;
  for (const MeshAxis& axis : axes)
    title += concat(title.empty() ? "" : " x ", axis.size, " (", axis.name, ")");
  return title;
}

/// @throws InvalidArgument
void check_axes(const std::vector<MeshAxis>& axes, int ranks) {
  std::int64_t product = 1;
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    TANDEM_CHECK(!axis->name.empty(), "DeviceMesh: an axis has no name; name each, as \"shard\"");
    TANDEM_CHECK(axis->size >= 1,
                 "DeviceMesh: axis '",
                 axis->name,
                 "' has size ",
                 axis->size,
                 "; give 1 or more");
    TANDEM_CHECK(
        std::none_of(axes.begin(), axis, [&](const MeshAxis& a) { return a.name == axis->name; }),
        "DeviceMesh: axis '",
        axis->name,
        "' comes twice; give each its own name");
    product *= axis->size;
  }
  TANDEM_CHECK(!axes.empty() && product == ranks,
               "DeviceMesh: ",
               axes.empty() ? "no axis" : title_of(axes),
               " makes ",
               axes.empty() ? 0 : product,
               " ranks, and the group has ",
               ranks,
               "; give sizes that multiply to ",
               ranks);
}

/// Which of the groups along the axes in `along` this rank is in: the place by all other axes.
int color_of(const std::vector<MeshAxis>& axes,
             const std::vector<int>& coordinates,
             const std::vector<std::size_t>& along) {
  int color = 0;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (std::ranges::find(along, a) == along.end()) color = color * axes[a].size + coordinates[a];
  return color;
}

}  // namespace

DeviceMesh::DeviceMesh(Communicator& comm, std::vector<MeshAxis> axes)
    : axes_(std::move(axes)), comm_(&comm) {
  check_axes(axes_, comm.size());
  const std::vector<int> at = coordinates();
  for (std::size_t a = 0; a < axes_.size(); ++a)
    groups_.push_back(comm.split(color_of(axes_, at, {a}), at[a]));
}

std::vector<int> DeviceMesh::coordinates() const {
  std::vector<int> at(axes_.size());
  int rest = comm_->rank();
  for (std::size_t a = axes_.size(); a-- > 0; rest /= axes_[a].size)
    at[a] = rest % axes_[a].size;
  return at;
}

bool DeviceMesh::has(const std::string& axis) const noexcept {
  return std::ranges::find(axes_, axis, &MeshAxis::name) != axes_.end();
}

std::size_t DeviceMesh::index_of(const std::string& axis) const {
  TANDEM_CHECK(has(axis), "DeviceMesh: no axis '", axis, "'; the mesh is ", title_of(axes_));
  return static_cast<std::size_t>(std::ranges::find(axes_, axis, &MeshAxis::name) - axes_.begin());
}

Communicator& DeviceMesh::group(const std::string& axis) const {
  return *groups_[index_of(axis)];
}

DeviceMesh DeviceMesh::sub_mesh(const std::vector<std::string>& axes) const {
  std::vector<std::size_t> chosen;
  for (const std::string& axis : axes)
    chosen.push_back(index_of(axis));
  std::ranges::sort(chosen);
  TANDEM_CHECK(!chosen.empty() && std::ranges::adjacent_find(chosen) == chosen.end(),
               "DeviceMesh: a sub-mesh has each of its axes once, and at least one; the mesh is ",
               title_of(axes_));
  DeviceMesh sub;
  for (const std::size_t a : chosen) {
    sub.axes_.push_back(axes_[a]);
    sub.groups_.push_back(groups_[a]);
  }
  sub.own_ = comm_->split(color_of(axes_, coordinates(), chosen), comm_->rank());
  sub.comm_ = sub.own_.get();
  return sub;
}

}  // namespace tandem::comm
