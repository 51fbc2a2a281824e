// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/sim/collective_model.hpp"
#include "tandem/sim/iteration_comparison.hpp"
#include "tandem/sim/presets.hpp"

#include "sim/step/kernel_model.hpp"

namespace tandem::sim::test {

inline constexpr std::size_t kMega = 1'000'000;

/// A step of one product and then, on several GPUs, an all-reduce; with the formula of its time.
struct MadeStep {
  int gpus = 1;
  std::int64_t size = 0;   ///< of square matrices
  std::size_t nbytes = 0;  ///< of the all-reduce

  profile::WorkCost cost() const {
    const auto n = static_cast<double>(size);
    return {.mnk = {size, size, size}, .flops = 2 * n * n * n};
  }
  IterationRecord record() const {
    IterationRecord made;
    made.gpus = gpus;
    std::int64_t sequence = 0;
    const auto add = [&](int gpu, Work::Kind kind, const char* name) -> profile::WorkSpan& {
      profile::WorkSpan span{};
      span.device = {DeviceType::cpu, gpu + 1};
      span.kind = kind;
      span.name = name;
      span.sequence = ++sequence;
      return made.record.work.emplace_back(std::move(span));
    };
    for (int gpu = 0; gpu < gpus; ++gpu) {
      made.devices.push_back({DeviceType::cpu, gpu + 1});
      add(gpu, Work::Kind::elementwise, "product").cost = cost();
    }
    for (const bool ends : {false, true})
      for (int gpu = 0; gpus > 1 && gpu < gpus; ++gpu)
        add(gpu, Work::Kind::collective, "all_reduce").exchange = {
            .id = 1,
            .rank = gpu,
            .ranks = gpus,
            .nbytes = nbytes,
            .point = ends ? Exchange::Point::end : Exchange::Point::begin};
    return made;
  }
  /// The time of a kernel on a machine without launch costs.
  double kernel_seconds(const Cluster& cluster) const {
    return KernelModel(cluster.gpus).seconds(cost());
  }
  double collective_seconds(const Cluster& cluster) const {
    if (gpus == 1) return 0;
    return CollectiveModel(cluster, gpus).time(comm::Collective::Kind::all_reduce, nbytes).seconds;
  }
};

/// A100 that launch kernels in no time.
inline Cluster quick_machine() {
  Cluster cluster = preset("a100-80x8");
  cluster.gpus.launch = {.gpu = 0, .host = 0};
  return cluster;
}

inline std::vector<IterationRecord> records_of(const std::vector<MadeStep>& steps) {
  std::vector<IterationRecord> records;
  for (const MadeStep& step : steps)
    records.push_back(step.record());
  return records;
}

/// Rows whose times are `seconds(step)`. Those of the same size are of the same model and batch.
template <class Seconds>
IterationTable table_of(const std::vector<MadeStep>& steps, const Seconds& seconds) {
  IterationTable table{.name = "made.csv"};
  for (const MadeStep& step : steps)
    table.rows.push_back({.line = table.rows.size() + 2,
                          .model = "made " + std::to_string(step.size),
                          .mode = step.gpus > 1 ? "ddp" : "single",
                          .gpus = step.gpus,
                          .batch = 4 * step.gpus,
                          .context = 0,
                          .seconds = seconds(step)});
  return table;
}

}  // namespace tandem::sim::test
