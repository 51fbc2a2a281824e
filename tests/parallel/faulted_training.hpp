// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tandem/optim/adam.hpp"
#include "tandem/runtime/generator.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

// What tests that let steps fail have in common.
namespace tandem::parallel::test {

/// A mode, and whether shares lie on a device outside of the group.
struct FaultedMode {
  Mode mode;
  bool offloads = false;

  std::string name() const {
    return std::string(parallel::name(mode)) + (offloads ? "_offload" : "");
  }
};

inline std::vector<FaultedMode> faulted_modes() {
  std::vector<FaultedMode> all;
  for (const Mode mode : kModes)
    all.push_back({mode});
  all.push_back({Mode::fully_sharded, true});
  return all;
}

/// A module, its optimizer and its replicas.
struct FaultedTraining {
  /// @param options  without the mode.
  FaultedTraining(const FaultedMode& how, DataParallelOptions options, std::int64_t rows)
      : batch(make_batch(rows, 2, DType::f64, false)) {
    used = options.devices;
    options.mode = how.mode;
    if (how.offloads) used.push_back(*(options.sharding.offload = testing::device(7)));
    dp = std::make_unique<DataParallel<NormMlp>>(net, options);
  }
  double step() { return dp->step(batch, kLoss, &optimizer).loss; }

  struct State {
    Values values;
    std::map<std::string, std::vector<double>> optimizer;
    std::uint64_t forwards = 0;
    std::vector<std::size_t> in_use;  // bytes, by device

    friend bool operator==(const State&, const State&) = default;
  };
  State state() {
    State now{values_of(net), {}, default_generator().forwards().load(), {}};
    const optim::OptimizerState saved = optimizer.state_dict();
    for (const auto& [name, x] : saved.tensors)
      now.optimizer[name] = x.to_doubles();
    for (const auto& [name, number] : saved.numbers)
      now.optimizer[name] = {number};
    for (const Device d : used)
      now.in_use.push_back(logical_device(d).memory_stats().in_use);
    return now;
  }

  std::vector<Device> used;
  NormMlp net = [] {
    manual_seed(8);
    return NormMlp();
  }();
  optim::AdamW optimizer{net.named_parameters(), {.lr = 0.01}};
  Batch batch;
  std::unique_ptr<DataParallel<NormMlp>> dp;
};

}  // namespace tandem::parallel::test
