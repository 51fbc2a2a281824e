// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tandem/comm/collective.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/core/dtype.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::cli {

/// Collectives to time on the GPUs of a machine that need not be there.
struct CollectivesSetup {
  comm::Collective::Kind kind = comm::Collective::Kind::all_reduce;
  DType dtype = DType::f32;
  comm::GroupOptions group = {};  ///< without the algorithm
  std::string algorithm = {};     ///< empty: all that can do it
  std::vector<std::size_t> sizes = {};
};

/// The time of one.
struct SimulatedCollective {
  std::size_t nbytes = 0;  ///< of the whole array
  std::string algorithm;
  bool is_library = false;  ///< the time is sim::CollectiveModel's
  std::int64_t steps = 0;   ///< of the algorithm; 0 for the library's
  double seconds = 0;
};

/// Times each size by each algorithm, and then as a library's.
///
/// @throws UsageError  the algorithm refuses it. @throws OutOfMemory  a GPU is too small.
std::vector<SimulatedCollective> simulate_collectives(const CollectivesSetup& setup,
                                                      const sim::Cluster& cluster,
                                                      int gpus);

nlohmann::json to_json(const std::vector<SimulatedCollective>& all,
                       const CollectivesSetup& setup,
                       const sim::Cluster& cluster,
                       int gpus);
void print(const std::vector<SimulatedCollective>& all,
           const CollectivesSetup& setup,
           const sim::Cluster& cluster,
           int gpus);

}  // namespace tandem::cli
