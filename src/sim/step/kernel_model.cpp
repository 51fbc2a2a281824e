// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "sim/step/kernel_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "sim/machine/slowest_gpu.hpp"

namespace tandem::sim {
namespace {

/// Rows and columns of the result that one block of threads makes, and the part of the peak that it
/// reaches: a small tile reads its operands more often for each product.
struct Tile {
  std::int64_t rows, columns;
  double efficiency;
};
constexpr std::array kTiles{Tile{256, 128, 1.0},
                            Tile{128, 256, 1.0},
                            Tile{128, 128, 0.97},
                            Tile{128, 64, 0.86},
                            Tile{64, 128, 0.86},
                            Tile{64, 64, 0.72},
                            Tile{64, 32, 0.52},
                            Tile{32, 64, 0.52}};
/// Into how many parts a long sum may be split over blocks, each with so many terms at least.
constexpr std::int64_t kMostParts = 16;
constexpr std::int64_t kLeastTerms = 256;
/// Bytes to which rows have to be aligned for whole vectors of loads.
constexpr std::int64_t kAlignment = 16;
constexpr double kMisaligned = 0.5;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

}  // namespace

KernelModel::KernelModel(const Gpus& gpus, int together)
    : gpus_(gpus), slowness_(1 + gpus.variation * slowest_gpu(together)) {}

double KernelModel::matmul_efficiency(const Mnk& sizes, DType dtype) const {
  if (sizes.m <= 0 || sizes.n <= 0 || sizes.k <= 0) return gpus_.efficiency.matmul;
  const auto units = static_cast<std::int64_t>(std::max(1, gpus_.multiprocessors));
  double best = 0;
  for (const Tile& tile : kTiles) {
    const std::int64_t tiles = ceil_div(sizes.m, tile.rows) * ceil_div(sizes.n, tile.columns);
    const double full = static_cast<double>(sizes.m) * static_cast<double>(sizes.n) /
                        (static_cast<double>(tiles) * static_cast<double>(tile.rows) *
                         static_cast<double>(tile.columns));
    const std::int64_t most = std::clamp<std::int64_t>(sizes.k / kLeastTerms, 1, kMostParts);
    for (std::int64_t parts = 1; parts <= most; parts *= 2) {
      const std::int64_t blocks = tiles * parts;
      const double busy =
          static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, units) * units);
      // The parts are added up, which is a pass over the result for each of them.
      const double adding =
          parts == 1 ? 1
                     : 1 / (1 + 64.0 * static_cast<double>(parts) / static_cast<double>(sizes.k));
      best = std::max(best, tile.efficiency * full * busy * adding);
    }
  }
  const auto multiple = kAlignment / static_cast<std::int64_t>(itemsize(dtype));
  const bool is_aligned =
      itemsize(dtype) > 2 || (sizes.n % multiple == 0 && sizes.k % multiple == 0);
  return gpus_.efficiency.matmul * best * (is_aligned ? 1 : kMisaligned);
}

double KernelModel::flops_per_second(const profile::WorkCost& cost) const {
  const double peak = gpus_.peak.of(cost.dtype);
  const double usable = peak > 0 ? peak : gpus_.peak.f32;
  return usable *
         (cost.mnk.k > 0 ? matmul_efficiency(cost.mnk, cost.dtype) : gpus_.efficiency.matmul);
}

double KernelModel::seconds(const profile::WorkCost& cost) const {
  const double arithmetic = cost.flops / flops_per_second(cost);
  const double memory =
      static_cast<double>(cost.nbytes) / (gpus_.memory_bandwidth * gpus_.efficiency.memory);
  return (gpus_.launch.gpu + std::max(arithmetic, memory)) * slowness_;
}

}  // namespace tandem::sim
