// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tandem/comm/group.hpp"

#include "comm/shared_transport.hpp"

namespace tandem::comm {

/// The transports of a wrapper's groups: groups of the same devices share one.
///
/// Used by one thread at a time. The groups must fail together (see SharedTransport).
class TransportCache {
 public:
  /// The transport among `devices`, which is made where there is none; null if the options ask for
  /// none. Of those that have not been used lately, all but a few give back what they hold of the
  /// GPUs.
  ///
  /// @throws  as make_group
  std::shared_ptr<SharedTransport> use(std::span<const Device> devices,
                                       const GroupOptions& options);

 private:
  struct Entry {
    std::vector<Device> devices;
    std::shared_ptr<SharedTransport> transport;
  };
  std::vector<Entry> entries_;  // the one used last is the last one
};

}  // namespace tandem::comm
