// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/device.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::parallel {

/// What one of several identical programs works with (run_ranks): its device, and its connection to
/// the others.
///
/// To be used on the rank's own thread only. All ranks call the collective functions in the same
/// order; else all get Desync with the names of both calls, or of the collectives beneath them.
class Rank {
 public:
  /// @param comm  outlives this object.
  explicit Rank(comm::Communicator& comm) noexcept : comm_(comm) {}
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  int rank() const noexcept { return comm_.rank(); }
  int size() const noexcept { return comm_.size(); }
  /// This rank's number among those of its host.
  int local_rank() const noexcept { return comm_.local_rank(); }
  Device device() const noexcept { return comm_.device(); }
  comm::Communicator& comm() const noexcept { return comm_; }
  /// The device's stream of work.
  Stream& stream() const;
  /// Rank 0 is the one that prints, saves and downloads.
  bool is_main() const noexcept { return rank() == 0; }
  /// Writes the parts and a line's end to the standard output, on rank 0 only, and at once.
  ///
  ///     rank.print("loss ", loss, " on ", rank.size(), " ranks");
  template <class... Parts>
  void print(const Parts&... parts) const {
    if (is_main()) write_line(tandem::detail::concat(parts...));
  }

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
  /// The rows of all ranks, rank 0's first, off the tape and on this rank's device. All ranks get
  /// the same. Ranks may have unequal numbers of rows, also none. Collective.
  ///
  ///     rank.gather_for_metrics(right, loader.repeated_rows())
  ///
  /// @param rows  one for each sample, of the same dtype and row's shape on all ranks.
  /// @param repeated  how many at the end are left out, since another rank has them too.
  /// @throws InvalidArgument  on all ranks, which then can go on: on one of them `rows` is
  ///                          undefined, a scalar or on another device, or `repeated` is not from 0
  ///                          to its rows; or the ranks' dtypes or shapes differ.
  /// @cost  two collectives of a few bytes, and an all_gather of the rows.
  Tensor gather_for_metrics(const Tensor& rows, std::int64_t repeated = 0) const;
  /// All ranks' objects, by rank: bytes of any kind and number, also none. Collective.
  ///
  /// @cost  each rank holds all objects on its device for a moment.
  std::vector<std::string> gather_objects(std::string_view object) const;
  /// The root's object on all ranks, whose own are ignored. Collective.
  ///
  /// @throws InvalidArgument  on all ranks, which then can go on: there is no rank `root`.
  std::string broadcast_object(std::string_view object, int root = 0) const;
  /// Returns when all ranks have called it. Collective.
  ///
  /// @throws Timeout  not all have within `timeout`, perhaps because their programs have ended; the
  ///                  text names those that have not.
  /// @throws InvalidArgument  `timeout` is zero or less.
  void wait_for_everyone(std::chrono::milliseconds timeout) const;
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

  static void write_line(const std::string& text);

  comm::Communicator& comm_;
};

}  // namespace tandem::parallel
