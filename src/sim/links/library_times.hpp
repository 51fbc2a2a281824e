// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "tandem/comm/collective.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/collective_model.hpp"

namespace tandem::sim {

/// How long collectives of any kind take a library: CollectiveTimes::library.
class LibraryTimes {
 public:
  explicit LibraryTimes(const Cluster& cluster) : cluster_(cluster) {}

  /// @param kind    none: it takes no time
  /// @param nbytes  of the whole array
  double seconds(std::optional<comm::Collective::Kind> kind, int ranks, std::size_t nbytes);
  /// On a host, where ranks do the work themselves: the time of one that does all of it alone.
  double seconds_alone(std::optional<comm::Collective::Kind> kind, int ranks, std::size_t nbytes);

 private:
  const Cluster& cluster_;
  std::map<int, CollectiveModel> models_;  // by number of ranks
};

}  // namespace tandem::sim
