// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include "tandem/comm/communicator.hpp"
#include "tandem/runtime/device.hpp"

namespace tandem::parallel {

/// What one of several identical programs works with (run_ranks): its device, and its connection to
/// the others.
///
/// To be used on the rank's own thread only.
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
  /// Rank 0 is the one that prints, saves and downloads.
  bool is_main() const noexcept { return rank() == 0; }

  /// Runs `f` on rank 0 first, and on the other ranks after it has ended there. So the others can
  /// read what rank 0 writes.
  template <std::invocable F>
  std::invoke_result_t<F> main_first(F&& f) const {
    if (!is_main()) comm_.barrier();
    const Afterwards barrier(is_main() ? &comm_ : nullptr);
    return std::forward<F>(f)();
  }
  /// Runs `f` on rank 0 only; the other ranks wait until it has ended. Use it to save a checkpoint.
  template <std::invocable F>
  void main_only(F&& f) const {
    if (is_main()) std::forward<F>(f)();
    comm_.barrier();
  }
  /// The mean of a metric over the rows of all ranks, from each rank's own sum. All ranks get the
  /// same number. Leave repeated samples (the padding of datasets::distributed_sampler) out of both
  /// arguments; see datasets::unrepeated_count. Collective.
  ///
  /// @param weight  number of rows in `sum`; 0 on a rank that has none.
  /// @return NaN if no rank has rows.
  double mean(double sum, double weight) const;
  /// A seed for what should differ between ranks (augmentation, dropout outside of
  /// DistributedDataParallel). It is unrelated to the seeds of other ranks and of other `base`s.
  std::uint64_t seed(std::uint64_t base) const noexcept;

 private:
  /// A barrier at the end of the scope, unless an exception ends the scope.
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

}  // namespace tandem::parallel
