// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/comm/backend.hpp"
#include "tandem/comm/communicator.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What one of several equal programs works with (run_ranks): its device, and the way to the
/// others.
///
/// Of its own thread alone.
class Rank {
 public:
  /// @param comm  outlives this object.
  explicit Rank(comm::Communicator& comm) noexcept : comm_(comm) {}
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int rank() const noexcept { return comm_.rank(); }
  int size() const noexcept { return comm_.size(); }
  Device device() const noexcept { return comm_.device(); }
  comm::Communicator& comm() const noexcept { return comm_; }
  /// The device's stream of work.
  Stream& stream() const;
  /// Rank 0: who prints, saves and downloads.
  bool is_main() const noexcept { return rank() == 0; }

  /// Runs `f` on rank 0, and on the others when it has ended there: what rank 0 writes, the others
  /// read.
  template <std::invocable F>
  std::invoke_result_t<F> main_first(F&& f) const {
    if (!is_main()) comm_.barrier();
    const Afterwards barrier(is_main() ? &comm_ : nullptr);
    return std::forward<F>(f)();
  }
  /// Runs `f` on rank 0 alone; all go on when it has ended: how a checkpoint is saved.
  template <std::invocable F>
  void main_only(F&& f) const {
    if (is_main()) std::forward<F>(f)();
    comm_.barrier();
  }
  /// The mean over the ranks' rows of a metric, of which each has its own sum: the same number on
  /// all of them. Repeated samples (datasets::distributed_sampler's padding) are left out of both,
  /// see datasets::unrepeated_count. Collective.
  ///
  /// @param weight  rows that `sum` is of; 0 on a rank that has none.
  /// @return NaN where no rank has rows.
  double mean(double sum, double weight) const;
  /// A seed for what is to differ between ranks (augmentation, dropout outside of
  /// DistributedDataParallel): far from those of other ranks, and of other `base`s.
  std::uint64_t seed(std::uint64_t base) const noexcept;

 private:
  /// A barrier at the end of the scope, unless that ends by an exception.
  class Afterwards {
   public:
    explicit Afterwards(comm::Communicator* comm) noexcept
        : comm_(comm), exceptions_(std::uncaught_exceptions()) {}
    ~Afterwards() noexcept(false) {
      if (comm_ != nullptr && std::uncaught_exceptions() == exceptions_) comm_->barrier();
    }
    Afterwards(const Afterwards&) = delete;
    Afterwards& operator=(const Afterwards&) = delete;

   private:
    comm::Communicator* comm_;
    int exceptions_;
  };

  comm::Communicator& comm_;
};

/// A rank's program failed. What it threw is nested (find_cause); failures of others are attached.
struct RankError : Error, std::nested_exception {
  /// Nests the exception being handled. @param others  "rank 2 on cpu:2: ..." each.
  RankError(int rank, Device device, const std::string& cause, std::vector<std::string> others);

  int rank;
  Device device;
  std::vector<std::string> others;
};

struct RunRanksOptions {
  /// Most time that a rank waits for the others in a collective; and, once a rank has failed, that
  /// the call waits for the others to end.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
  comm::Backend backend = comm::Backend::local;
};

/// Runs `body` once for each device, on the device's thread, as one rank of a group: the form of a
/// program for torchrun or mpirun, in one process. Returns when all have ended.
///
///     run_ranks(devices, [&](Rank& rank) {
///       Net net;
///       net.to(rank.device());
///       DistributedDataParallel ddp(net, rank);
///       ...
///     });
///
/// A rank that fails frees the others from their waits (CommAborted).
/// @throws RankError        the first failure that is not the echo of another one.
/// @throws Timeout          after a failure, ranks did not end in time: they are named, and may
/// still
///                          run.
/// @throws InvalidArgument  no device, one listed twice; called by a rank or inside a replica.
void run_ranks(std::span<const Device> devices,
               std::function<void(Rank&)> body,
               RunRanksOptions options = {});

}  // namespace tandem::parallel
