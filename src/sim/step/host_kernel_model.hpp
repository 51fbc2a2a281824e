// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// How long a host's device takes for a piece of work, in seconds, while all devices that take part
/// work: each has an even share of the cores (docs/simulation.md).
class HostKernelModel {
 public:
  /// @param gpus     of kind host
  /// @param devices  that take part
  HostKernelModel(const Gpus& gpus, int devices);

  /// @param op  the op's name
  double seconds(std::string_view op, const profile::WorkCost& cost) const;

 private:
  /// On one core that has it all.
  double on_one_core(std::string_view op, const profile::WorkCost& cost) const;

  Gpus gpus_;
  int cores_ = 1;     // of a device
  double share_ = 1;  // of a core, where there are more devices than cores
  double slowness_;   // of the slowest device
};

}  // namespace tandem::sim
