// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tandem::libtorch {

/// Numbers the nodes of a replica's job. PyTorch's engine takes those of a device by their numbers,
/// the highest first, and every thread counts its own. Here a later call has higher numbers than an
/// earlier one, on whatever threads, and all replicas begin with the same: in a backward of several
/// calls the nodes that meet come in the same order on all devices.
class NodeOrder {
 public:
  /// Where the nodes of the next call begin. To be asked once for all of its replicas.
  static std::uint64_t next() noexcept;

  /// @param first  from next(). Costs about a nanosecond for each number that the thread is behind.
  explicit NodeOrder(std::uint64_t first);
  ~NodeOrder();
  NodeOrder(const NodeOrder&) = delete;
  NodeOrder& operator=(const NodeOrder&) = delete;
};

}  // namespace tandem::libtorch
