// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/sim/host_description.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/core/check.hpp"
#include "tandem/sim/calibration.hpp"

#include "sim/fit/bounded_fit.hpp"
#include "sim/fit/fitted_constant.hpp"
#include "sim/step/host_kernel_model.hpp"

namespace tandem::sim {
namespace {

/// The size that halves a product's speed, at most.
constexpr double kMostHalf = 4096;
/// The part of the peak that the fastest product reaches, at least.
constexpr double kLeastOfPeak = 0.5;
/// What takes less says more of calls than of work.
constexpr double kLeastTime = 5e-6;

double flops_of(const Mnk& sizes) {
  return 2.0 * static_cast<double>(sizes.m) * static_cast<double>(sizes.n) *
         static_cast<double>(sizes.k);
}

/// What an op takes without the call of it, which is never quite all of it.
double own_time(double seconds, double call) {
  return std::max(seconds - call, seconds / 2);
}

/// Sets the peak, and how it depends on the sizes: the time is linear in 1, 1 / m, 1 / n and 1 / k.
void fit_products(const HostMeasurements& measured, Gpus& gpus) {
  const auto seconds = [&](const MeasuredProduct& one) {
    return own_time(one.seconds, measured.small_op);
  };
  for (const MeasuredProduct& one : measured.products)
    gpus.peak.f32 = std::max(gpus.peak.f32, rounded(flops_of(one.sizes) / seconds(one)));
  BoundedFit fit;
  for (const MeasuredProduct& one : measured.products) {
    const double at_peak = flops_of(one.sizes) / gpus.peak.f32 / seconds(one);
    fit.add({at_peak,
             at_peak / static_cast<double>(one.sizes.m),
             at_peak / static_cast<double>(one.sizes.n),
             at_peak / static_cast<double>(one.sizes.k),
             0});
  }
  const double most = 1 / kLeastEfficiency;
  const double most_half = kMostHalf * most;
  const Unknowns x =
      fit.solve({kLeastOfPeak, 0, 0, 0, 0}, {most, most_half, most_half, most_half, 0});
  if (x[0] < 1) gpus.peak.f32 = rounded(gpus.peak.f32 / x[0]);  // that of products without an end
  gpus.efficiency.matmul = std::min(1.0, rounded(1 / x[0]));
  gpus.products = HalfSizes{rounded(x[1] / x[0]), rounded(x[2] / x[0]), rounded(x[3] / x[0])};
}

/// Sets how fast ops are beside what their arithmetic and their bytes say.
void set_ops(const HostMeasurements& measured, Gpus& gpus) {
  const HostKernelModel model(gpus, gpus.multiprocessors);
  std::map<std::string, double> expected, taken;
  for (const MeasuredOp& op : measured.ops) {
    if (op.seconds < kLeastTime) continue;
    expected[op.name] += model.seconds(op.name, op.cost);
    taken[op.name] += op.seconds;
  }
  for (const auto& [name, seconds] : taken)
    gpus.ops[name] = rounded(expected[name] / seconds);
}

/// The largest stream is beyond all caches. What is nearer to the speed of the smallest one than to
/// that is within them.
void set_memory(const HostMeasurements& measured, Gpus& gpus) {
  const auto bandwidth = [&](const MeasuredStream& stream) {
    return stream.nbytes / own_time(stream.seconds, measured.small_op);
  };
  const double least = bandwidth(measured.streams.back());
  const double most = bandwidth(measured.streams.front());
  gpus.memory_bandwidth = rounded(least);
  for (const MeasuredStream& stream : measured.streams)
    if (bandwidth(stream) > std::sqrt(least * most))
      gpus.cache = Cache{.size = stream.nbytes, .bandwidth = rounded(most)};
}

Gpus gpus_of(const HostMeasurements& measured) {
  Gpus gpus;
  gpus.name = "virtual device";
  gpus.kind = GpuKind::host;
  gpus.count = measured.devices;
  gpus.multiprocessors = measured.cores;
  gpus.memory = measured.memory;
  set_memory(measured, gpus);
  gpus.efficiency = {.copy = 1, .memory = 1, .matmul = 1, .beside_collectives = 1};
  gpus.launch = {.gpu = rounded(measured.sharing_op), .host = rounded(measured.small_op)};
  fit_products(measured, gpus);
  set_ops(measured, gpus);
  gpus.peak.f64 = rounded(measured.f64_flops / gpus.efficiency.matmul);
  return gpus;
}

void set_sources(Cluster& cluster) {
  const std::string here = "measured by tandem cluster calibrate --host";
  cluster.sources = {
      {"gpus", here},
      {"gpus.efficiency", "of no effect, but for matmul: what is reached was measured"},
      {"gpus.efficiency.matmul", here},
      {"gpus.memory", "the limit of a device, or its part of the machine's memory"},
      {"gpus.products", here + ", and fitted"},
      {"pcie", here + ": copies of one device"},
      {"host", here + ": copies of one device and of all, and the hand-over of jobs"},
      {"collectives.ring", here + ", and fitted"}};
}

}  // namespace

Cluster describe_host(const HostMeasurements& measured) {
  TANDEM_CHECK(!measured.products.empty(),
               "describe_host: there is no measured product; give at least one");
  TANDEM_CHECK(!measured.streams.empty(),
               "describe_host: there is no measured stream; give at least one");
  Cluster cluster;
  cluster.name = detail::concat(measured.name, "-cpu", measured.devices);
  cluster.about = detail::concat(
      measured.devices, " virtual devices on ", measured.cores, " cores of ", measured.name);
  cluster.gpus = gpus_of(measured);
  const double copy = rounded(measured.copy_bandwidth);
  cluster.pcie.bandwidth = copy;
  cluster.host = {.bandwidth = copy,
                  .total_bandwidth = std::max(copy, rounded(measured.all_copy_bandwidth)),
                  .latency = rounded(measured.hand_over)};
  cluster.collectives.ring.efficiency = 1;
  if (!measured.all_reduces.empty())
    cluster = calibrate_all_reduce(measured.all_reduces, cluster).cluster;
  set_sources(cluster);
  check(cluster);
  return cluster;
}

}  // namespace tandem::sim
