// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "tandem/comm/communicator.hpp"
#include "tandem/nn/module.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/parallel/run_ranks.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "parallel/replicas/device/device_replica.hpp"

// What the tests of a rank's parts run on each rank.
namespace tandem::parallel::test {

/// Runs `body` on each of `n` ranks.
inline void on_ranks(int n, const std::function<void(comm::Communicator& comm)>& body) {
  run_ranks(testing::devices(n),
            [&body](Rank& rank) { body(rank.comm()); },
            {.timeout = std::chrono::seconds(20), .backend = testing::backend()});
}

/// Two parameters of one element each, and losses of them.
struct Pair : nn::Module {
  explicit Pair(Device device)
      : first(full({1}, 1, {.dtype = DType::f64, .device = device})),
        second(full({1}, 1, {.dtype = DType::f64, .device = device})) {}
  nn::Parameter first, second;
  /// A loss that depends on `first` alone.
  Tensor first_alone(double factor) const { return sum(first * factor); }
  Tensor both(double factor) const { return sum((first + second) * factor); }
  TANDEM_MODULE(Pair, first, second)
};

/// A rank's replica of a Pair, whose parameters are in an arena.
struct PairReplica {
  explicit PairReplica(comm::Communicator& comm)
      : module(comm.device()), replica(comm.rank(), comm.device(), module) {
    replica.bind_parameters(
        optim::Arena::bind({{"first", module.first}, {"second", module.second}}));
  }
  const optim::ArenaLayout& layout() const { return replica.parameters()->layout(); }

  Pair module;
  DeviceReplica replica;
};

}  // namespace tandem::parallel::test
