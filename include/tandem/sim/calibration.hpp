// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/sim/all_reduce_comparison.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/timing_table.hpp"

namespace tandem::sim {

/// Where a fit left a constant.
enum class FitPlace : std::uint8_t {
  inside,    ///< between its bounds
  at_lower,  ///< at its lower bound: the tables would have it lower
  at_upper,  ///< at its upper bound
  held,      ///< as the cluster has it: the tables say nothing about it
};

/// A constant of a description after a calibration.
struct FittedConstant {
  std::string path;  ///< "collectives.ring.alpha0"
  FitPlace place = FitPlace::inside;
  std::string value;         ///< with its unit
  std::string lower, upper;  ///< what is physically possible
};

/// How well a table that was given is met.
struct TableError {
  std::string name;
  int gpus = 0;
  MeanError error;
  MeanError null_error;  ///< see AllReduceComparison
  /// Whether the NVLinks of these GPUs make no ring, but a chain, whose time is another formula
  /// with the same constants. A library may find a better way, and then the error is large.
  bool is_chain = false;
};

struct Calibration {
  Cluster cluster;  ///< the one that was given, with fitted constants and their sources
  std::vector<FittedConstant> constants = {};
  std::vector<TableError> tables = {};
};

/// Fits the constants of a cluster's all-reduce to measured times, by least squares of the relative
/// errors of all rows, within physical bounds.
///
/// Tables of at least nvls.least_gpus GPUs are taken as times inside the switch, if there is NVLS,
/// and others as times of rings. From tables of one number of GPUs alone, what depends on the
/// number is not known: it is held. The result depends on the arguments alone.
///
/// @param tables  of GPUs of one node
/// @throws InvalidArgument  there is no table, or one does not fit the cluster (see
///                          compare_all_reduce), or is of more GPUs than a node has.
Calibration calibrate_all_reduce(const std::vector<TimingTable>& tables, const Cluster& cluster);

}  // namespace tandem::sim
