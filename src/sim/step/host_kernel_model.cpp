// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/host_kernel_model.hpp"

#include <algorithm>

#include "sim/machine/slowest_gpu.hpp"

namespace tandem::sim {

HostKernelModel::HostKernelModel(const Gpus& gpus, int devices)
    : gpus_(gpus),
      cores_(std::max(1, gpus.multiprocessors / devices)),
      share_(std::min(1.0, static_cast<double>(gpus.multiprocessors) / devices)),
      slowness_(1 + gpus.variation * slowest_gpu(devices)) {}

double HostKernelModel::on_one_core(std::string_view op, const profile::WorkCost& cost) const {
  const auto nbytes = static_cast<double>(cost.nbytes);
  const double memory = nbytes / (gpus_.memory_bandwidth * gpus_.efficiency.memory);
  const bool is_cached = gpus_.cache && nbytes <= gpus_.cache->size;
  const double streams = gpus_.cache ? nbytes / gpus_.cache->bandwidth : memory;
  const double peak = gpus_.peak.of(cost.dtype);
  double time = cost.flops / ((peak > 0 ? peak : gpus_.peak.f32) * gpus_.efficiency.matmul);
  if (cost.mnk.m > 0 && cost.mnk.n > 0 && cost.mnk.k > 0) {
    const HalfSizes& half = *gpus_.products;
    time *= 1 + half.m / static_cast<double>(cost.mnk.m) +
            half.n / static_cast<double>(cost.mnk.n) + half.k / static_cast<double>(cost.mnk.k);
  } else {
    time = std::max(time, streams);
  }
  const auto speed = gpus_.ops.find(op);
  time /= speed == gpus_.ops.end() ? 1 : speed->second;
  return is_cached ? time : std::max(time, memory);
}

double HostKernelModel::seconds(std::string_view op, const profile::WorkCost& cost) const {
  const double alone = on_one_core(op, cost);
  const double shared = alone / cores_ + gpus_.launch.gpu;
  return (cores_ > 1 ? std::min(alone, shared) : alone) / share_ * slowness_;
}

}  // namespace tandem::sim
