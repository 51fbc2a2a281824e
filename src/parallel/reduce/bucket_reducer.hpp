// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tandem/comm/communicator.hpp"
#include "tandem/optim/arena.hpp"
#include "tandem/parallel/comm_hook.hpp"

#include "parallel/reduce/arena_shares.hpp"
#include "parallel/reduce/buckets.hpp"
#include "parallel/reduce/gradient_shares.hpp"
#include "parallel/reduce/gradient_tally.hpp"
#include "parallel/reduce/non_finite_watch.hpp"
#include "parallel/reduce/process_sums.hpp"
#include "parallel/reduce/reduction.hpp"

namespace tandem::parallel {

/// Reduces the gradients of one replica over a group, bucket by bucket.
///
/// To be used on the replica's own thread.
class BucketReducer {
 public:
  using Clock = std::chrono::steady_clock;

  BucketReducer(std::shared_ptr<optim::Arena> arena,
                std::shared_ptr<const std::vector<Bucket>> buckets,
                Reduction reduction);
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  /// Whom the buckets are reduced with.
  struct Groups {
    comm::Communicator* replicas = nullptr;  ///< null: there is only one replica
    /// The devices of the processes, which add up what each process has summed; null: there is
    /// one process, or `replicas` are those of all.
    comm::Communicator* processes = nullptr;
  };
  /// From here on, complete buckets are reduced.
  ///
  /// @param backwards, used  see GradientTally::begin.
  void arm(const Groups& groups, std::int64_t backwards, GradientTally::Used used);
  /// Whether every rank gets the sum.
  bool gives_all_the_sum() const noexcept { return reduction_.to == Reduction::To::all; }
  const std::vector<Bucket>& buckets() const noexcept { return *buckets_; }
  /// Sets the factor for this replica's gradients before they are reduced.
  void set_factor(double factor) noexcept { factor_ = factor; }
  /// Sets a hook that replaces the reduction to all ranks, including the factor.
  void set_hook(CommHook hook) { hook_ = std::move(hook); }
  /// From now on the shares of the reduction go there. `shares` outlives this object.
  void set_shares(GradientShares& shares) noexcept { shares_ = &shares; }
  bool gives_shares_away() const noexcept { return shares_->leave_the_arena(); }
  /// A backward begins, with or without work for this replica.
  void begin_backward() noexcept { tally_.begin_backward(); }
  /// A backward has made the gradient of `place`.
  void on_gradient(std::size_t place);
  /// Counts missing gradients as zero, reduces what is left, and waits for all of it.
  void finish();
  /// Forgets a backward that failed.
  void disarm() noexcept;
  /// The same, once what is under way has ended, well or not.
  void abandon() noexcept;
  bool is_armed() const noexcept { return armed_; }
  /// When the first bucket's reduction was started since arm.
  std::optional<Clock::time_point> first_launch() const noexcept { return first_launch_; }
  /// The gradients that are complete since arm.
  const GradientTally& tally() const noexcept { return tally_; }
  /// A gradient that earlier backwards have made was dropped.
  void forget(std::size_t place) { tally_.forget(place); }
  /// Looks at gradients before they are reduced, if it is started after arm, which stops it.
  NonFiniteWatch& watch() noexcept { return watch_; }

 private:
  /// A bucket whose reduction over the replicas was started.
  struct Launched {
    comm::Handle handle = {};
    Tensor sent = {};
    Tensor part = {};  // what this replica gets of it; undefined: nothing
  };
  /// Starts the buckets that are complete, in their order.
  void launch_complete();
  /// Where there is one replica only, a bucket is reduced as it is.
  Launched launch(std::size_t bucket);
  comm::Handle launch_to_all(std::size_t bucket);
  Launched launch_to_rank_0(std::size_t bucket);
  Launched launch_to_shares(std::size_t bucket);
  /// What is sent of a bucket, with this replica's factor.
  Tensor outgoing(std::size_t bucket) const;
  enum class Wait : std::uint8_t { no, yes };  // for reductions that are under way
  /// Starts to add up, over the processes, what this replica has got of the reduced buckets.
  void add_up_reduced(Wait wait);
  /// Waits for the first `count` buckets, and lets go of their gradients.
  void end_first(std::size_t count);
  /// Where the shares of the present backward go. What one replica alone makes stays in its arena.
  GradientShares& shares() noexcept { return groups_.replicas == nullptr ? in_arena_ : *shares_; }

  std::shared_ptr<optim::Arena> arena_;
  std::shared_ptr<const std::vector<Bucket>> buckets_;
  Reduction reduction_;
  std::vector<std::vector<Tensor>> flat_;  // by bucket, by run: its gradients
  GradientTally tally_;
  NonFiniteWatch watch_;
  CommHook hook_;
  ArenaShares in_arena_;
  GradientShares* shares_ = &in_arena_;
  double factor_ = 1;
  bool armed_ = false;
  Groups groups_;
  std::vector<Launched> launched_;  // the first buckets; all ranks go in this order
  ProcessSums sums_;                // of those buckets
  std::size_t ended_ = 0;           // of those buckets
  std::optional<Clock::time_point> first_launch_;
};

}  // namespace tandem::parallel
