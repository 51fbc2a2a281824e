// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/host_kernel_model.hpp"

#include <algorithm>

#include "sim/slowest_gpu.hpp"

namespace tandem::sim {

HostKernelModel::HostKernelModel(const Gpus& gpus, int devices)
    : gpus_(gpus),
      cores_(std::max(1, gpus.multiprocessors / devices)),
      share_(std::min(1.0, static_cast<double>(gpus.multiprocessors) / devices)),
      slowness_(1 + gpus.variation * slowest_gpu(devices)) {}

double HostKernelModel::on_one_core(const profile::WorkCost& cost) const {
  const double peak = gpus_.peak.of(cost.dtype);
  const double arithmetic =
      cost.flops / ((peak > 0 ? peak : gpus_.peak.f32) * gpus_.efficiency.matmul);
  if (cost.mnk.m > 0 && cost.mnk.n > 0 && cost.mnk.k > 0) {
    const HalfSizes& half = *gpus_.products;
    return arithmetic *
           (1 + half.m / static_cast<double>(cost.mnk.m) +
            half.n / static_cast<double>(cost.mnk.n) + half.k / static_cast<double>(cost.mnk.k));
  }
  const double memory =
      static_cast<double>(cost.nbytes) / (gpus_.memory_bandwidth * gpus_.efficiency.memory);
  return std::max(arithmetic, memory);
}

double HostKernelModel::seconds(std::string_view op, const profile::WorkCost& cost) const {
  const auto speed = gpus_.ops.find(op);
  const double alone = on_one_core(cost) / (speed == gpus_.ops.end() ? 1 : speed->second);
  const double shared = alone / cores_ + gpus_.launch.gpu;
  return (cores_ > 1 ? std::min(alone, shared) : alone) / share_ * slowness_;
}

}  // namespace tandem::sim
