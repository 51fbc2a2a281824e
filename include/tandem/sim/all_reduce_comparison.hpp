// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tandem/sim/cluster.hpp"
#include "tandem/sim/timing_table.hpp"

namespace tandem::sim {

/// The mean of |predicted / measured - 1|, as a part of 1.
struct MeanError {
  double all = 0;            ///< over all rows
  double powers_of_two = 0;  ///< over the rows whose bytes are a power of two; 0 without any
};

/// Measured all-reduces beside those that a model predicts.
struct AllReduceComparison {
  struct Row {
    std::size_t nbytes = 0;
    double measured = 0;   ///< seconds, out of place
    double predicted = 0;  ///< seconds
    const char* algorithm = "";
  };
  std::vector<Row> rows = {};
  MeanError error;
  /// The error of a model that knows nothing but one bandwidth, which is fitted to these very rows.
  MeanError null_error;
  double null_bandwidth = 0;  ///< bytes/s on the bus, as nccl-tests counts them
};

/// Compares a table with the times of CollectiveModel.
///
/// @throws InvalidArgument  the cluster has fewer GPUs than the table, or all times are so far from
///                          what its links can do that they must be in another unit.
AllReduceComparison compare_all_reduce(const Cluster& cluster, const TimingTable& table);

}  // namespace tandem::sim
