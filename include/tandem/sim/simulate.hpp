// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// How long collectives take.
enum class CollectiveTimes : std::uint8_t {
  library,  ///< what CollectiveModel says, which chooses among a library's algorithms as NCCL does
  as_run,   ///< what the algorithm that ran takes on the links, step by step
};

/// Which step is simulated, by the names that Cluster::compared has.
struct StepQuestion {
  std::string model, dtype;
  std::vector<std::string> modes = {};  ///< none: any
};

struct SimulateOptions {
  /// How many GPUs take part; none: as many as there are devices. More than those: the last device
  /// stands for all others too, which do what it does. So a record of two devices gives the time of
  /// a step on a thousand.
  std::optional<int> gpus = std::nullopt;
  /// By how much kernels are faster than the description says: their times are divided by it, those
  /// of collectives, of copies and of copies_buckets are not. It must be above 0.
  double kernel_speed = 1;
  /// Whether GPUs copy what they exchange into buckets, as PyTorch does: DDP before each all-reduce
  /// and back after it, unless gradients are views of buckets, and nn.DataParallel before each
  /// broadcast and reduce, in the stream of these. Tandem's arrays lie in buckets.
  bool copies_buckets = false;
  /// Whose times collectives have. With as_run each GPU has a device of its own, and is none of a
  /// host's (GpuKind::host).
  CollectiveTimes collectives = CollectiveTimes::library;
  /// The step that the known error is to be told of; none: one that no description names.
  std::optional<StepQuestion> question = std::nullopt;
};

/// What a record that was simulated says of the machine. The known error is that of the library's
/// collectives, so it is not known for others. Nor is it for a step that is not among those that
/// were compared (Cluster::compared), or if the description has the words of a preset and other
/// figures.
///
/// @param gpus  that take part
profile::SimulatedMachine simulated_machine(const Cluster& cluster,
                                            int gpus,
                                            const SimulateOptions& options = {});

/// When the work of a record would be done on a described machine.
///
/// The same work, transfers and collectives, with the times of a model instead of a watch:
/// docs/cluster.md says how. Each device has a stream of work, one of collectives and one of
/// uploads, as a GPU has; each thread of the record queues on them what it called, in its order.
/// Devices that are not among `devices` are the machine's host. Side spans are added for the
/// collectives. With CollectiveTimes::as_run each transfer of a collective has the time from its
/// first byte on its link to the last, else that of the whole collective. Everything is in the
/// order of simulated time, and threads are numbered anew.
///
/// A pure function of its arguments: the record may come from any machine, from shape-only devices
/// too, and its own times do not matter. Thread-safe.
///
/// @param devices  device i is GPU i of the cluster
/// @throws InvalidArgument  the cluster has fewer GPUs; a device is given twice; the kernels' speed
///                          is not above 0; the record is not complete, or has a part of a
///                          collective alone. Or one device stands for several, and what each does
///                          depends on their number: the record has shares, or copies between GPUs,
///                          or collectives are timed as run. Or these are, and not all ranks of one
///                          are among the devices, or these are a host's (GpuKind::host). Or the
///                          record computes in f64, of which the cluster has no peak, or takes
///                          longer than 285 years there.
/// @cost   microseconds for each piece of work
profile::StepRecord simulate(const profile::StepRecord& record,
                             const Cluster& cluster,
                             std::span<const Device> devices,
                             const SimulateOptions& options = {});

}  // namespace tandem::sim
