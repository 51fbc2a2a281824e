// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tandem/profile/step_record.hpp"
#include "tandem/sim/cluster.hpp"

namespace tandem::sim {

/// How long a GPU takes for a piece of work that has it to itself, in seconds: what it costs to
/// start a kernel, and the longer one of arithmetic and memory traffic (docs/simulation.md).
class KernelModel {
 public:
  /// @param together  how many GPUs work together, and so wait for the slowest of them
  explicit KernelModel(const Gpus& gpus, int together = 1);

  double seconds(const profile::WorkCost& cost) const;
  /// The part of the dtype's peak that a product of (m, k) by (k, n) reaches, from 0 to 1: the best
  /// tiling's. Tiles at the edges are partly empty, and so is the last wave of tiles.
  double matmul_efficiency(const Mnk& sizes, DType dtype) const;

 private:
  double flops_per_second(const profile::WorkCost& cost) const;

  Gpus gpus_;
  double slowness_;
};

}  // namespace tandem::sim
