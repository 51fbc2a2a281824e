// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"
#include "tandem/sim/timing_table.hpp"

namespace tandem::sim {

/// A product of two matrices, and how long it took.
struct MeasuredProduct {
  Mnk sizes;
  double seconds = 0;
};

/// An op, and how long its work took. Ops of one name have different sizes.
struct MeasuredOp {
  std::string name;  ///< as in profile::WorkSpan
  profile::WorkCost cost;
  double seconds = 0;
};

/// An op that streams, and how long it took.
struct MeasuredStream {
  double nbytes = 0;  ///< read and written
  double seconds = 0;
};

/// What was measured of a host, in seconds and bytes/s. All cores worked at once, each for itself,
/// unless it says otherwise.
struct HostMeasurements {
  std::string name;       ///< of the machine
  int devices = 0;        ///< virtual ones that are to be described
  int cores = 0;          ///< which they share
  double memory = 0;      ///< bytes of each device
  double small_op = 0;    ///< an op on a few elements, with its part of autograd
  double sharing_op = 0;  ///< what it costs to share an op among all cores
  double hand_over = 0;   ///< giving a job to another thread, or seeing its end
  std::vector<MeasuredProduct> products = {};  ///< of f32
  std::vector<MeasuredOp> ops = {};            ///< of f32, of any kind
  double f64_flops = 0;                        ///< of a large product of f64, in FLOP/s of a core
  std::vector<MeasuredStream> streams = {};    ///< from small to large ones
  double copy_bandwidth = 0;                   ///< between two devices, while nothing else works
  double all_copy_bandwidth = 0;               ///< of all devices together
  std::vector<TimingTable> all_reduces = {};   ///< among the devices
};

/// A description in which each GPU is a virtual device of the host.
///
/// The efficiency of products is fitted to the measured ones, and the constants of collectives to
/// the all-reduces (calibrate_all_reduce). A pure function; thread-safe.
///
/// @throws InvalidArgument  there is no product or no stream, or what was measured makes no
///                          description that `check` accepts.
Cluster describe_host(const HostMeasurements& measured);

}  // namespace tandem::sim
