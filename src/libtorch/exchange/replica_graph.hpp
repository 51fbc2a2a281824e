// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tandem::libtorch {

/// A node of PyTorch's graph at which a replica's part of it begins or ends.
class ReplicaBorder {
 public:
  virtual ~ReplicaBorder() = default;
};

/// A node of PyTorch's graph whose backward may wait for those of other replicas.
class MeetingNode {
 public:
  virtual ~MeetingNode() = default;
  virtual bool meets() const noexcept = 0;
};

/// Divides outputs of a replica into groups that have no op in common, so that each may have a
/// backward of its own. Those whose backwards meet other replicas stay together: devices could
/// otherwise begin them in different orders, and wait for each other.
///
/// @param on_graph  indices of those that require grad.
/// @return  indices by group.
/// @cost  a look at each node of the replica's graph.
std::vector<std::vector<std::size_t>> separate_graphs(const std::vector<at::Tensor>& outputs,
                                                      const std::vector<std::size_t>& on_graph);

}  // namespace tandem::libtorch
