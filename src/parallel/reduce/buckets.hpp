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

#include "core/even_share.hpp"

namespace tandem::parallel {

/// Gradients, or values, that are sent in one message.
struct Bucket {
  int block = 0;
  std::vector<Share> runs;  ///< contiguous elements of the block; a planned bucket has one run
  std::vector<std::size_t> places;

  /// The elements of a planned bucket.
  const Share& range() const { return runs.front(); }
};

/// Rank `r`'s even share of a planned bucket, in elements of the block.
Share share_of(const Bucket& bucket, int r, int ranks) noexcept;

/// Cuts the gradients into buckets from the last place to the first, which is roughly the order in
/// which backward makes them. The first bucket is small, so that the reduction starts early.
///
/// @param first_nbytes, nbytes  a bucket is closed once it has reached its size.
std::vector<Bucket> plan_buckets(const optim::ArenaLayout& layout,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes);

/// Cuts the gradients into buckets in the order in which they became ready.
///
/// @param ready  places; those that are missing follow, in the order of plan_buckets.
std::vector<Bucket> plan_buckets_as_ready(const optim::ArenaLayout& layout,
                                          const std::vector<std::size_t>& ready,
                                          std::size_t first_nbytes,
                                          std::size_t nbytes);

/// Cuts the values of all places into buckets in the order in which a forward is likely to read
/// them. The first bucket is small, so that the forward can begin early.
std::vector<Bucket> plan_broadcast(const optim::ArenaLayout& layout,
                                   std::size_t first_nbytes,
                                   std::size_t nbytes);

/// A range of elements of a flat tensor.
Tensor range(const Tensor& flat, const Share& elements);

/// Where the replicas' gradients are added up, and when.
struct Reduction {
  enum class To : std::uint8_t {
    rank_0,  ///< each bucket to rank 0
    shares,  ///< each rank gets its share of each bucket
    all,     ///< each bucket to every rank
  };
  To to = To::rank_0;
  /// True: buckets wait until backward has ended. False: each starts as soon as it is complete.
  bool at_end = false;
};

/// Reduces the gradients of one replica over a group, bucket by bucket.
///
/// To be used on the replica's own thread.
class BucketReducer {
 public:
  using Clock = std::chrono::steady_clock;

  BucketReducer(std::shared_ptr<optim::Arena> arena,
                std::shared_ptr<const std::vector<Bucket>> buckets,
                Reduction reduction);

  /// Whether gradients of earlier backwards that were not reduced count too (kept), or not (fresh).
  enum class Used : std::uint8_t { fresh, kept };
  /// From here on, complete buckets are reduced over `group` (null: there is only one replica).
  ///
  /// @param backwards  the number of backwards that add up to the gradients. Only the last one
  ///                   completes buckets.
  void arm(comm::Communicator* group, std::int64_t backwards, Used used);
  /// After arm: notes where this replica makes infinities and NaN, which the sum does not show.
  /// @cost  a pass over the gradients.
  void watch_non_finite();
  /// Whether every rank gets the sum.
  bool gives_all_the_sum() const noexcept { return reduction_.to == Reduction::To::all; }
  /// Sets the factor for this replica's gradients before they are reduced to all ranks.
  void set_factor(double factor) noexcept { factor_ = factor; }
  /// Sets a hook that replaces the reduction to all ranks, including the factor.
  void set_hook(CommHook hook) { hook_ = std::move(hook); }
  /// A backward begins, with or without work for this replica.
  void begin_backward() noexcept { ++backward_; }
  /// A gradient of this replica is complete.
  void on_gradient(std::size_t place);
  /// Counts missing gradients as zero, reduces what is left, and waits for all of it.
  void finish();
  /// Forgets a backward that failed.
  void disarm() noexcept;
  /// Places whose gradient is complete since arm, in that order.
  const std::vector<std::size_t>& ready() const noexcept { return ready_; }
  /// When the first bucket's reduction was started since arm.
  std::optional<Clock::time_point> first_launch() const noexcept { return first_launch_; }
  const std::vector<Bucket>& buckets() const noexcept { return *buckets_; }
  /// By place: 1 if its gradient was made since arm (or, if kept, earlier).
  const std::vector<std::uint8_t>& used() const noexcept { return used_; }
  /// The places that train and whose gradient this replica has not completed since arm.
  std::vector<std::size_t> missing() const;
  /// Whether the gradient of `place` is complete since arm.
  bool is_complete(std::size_t place) const noexcept { return complete_[place] != 0; }
  bool is_armed() const noexcept { return armed_; }
  /// By place: not 0 if this replica made an infinity or NaN there; empty if it was not watched.
  /// Reads from the device.
  std::vector<double> non_finite() const;

 private:
  /// This replica's part of the gradient of `place` is ready.
  void complete(std::size_t place);
  void launch_ready();
  comm::Handle launch(std::size_t bucket);
  comm::Handle launch_to_all(std::size_t bucket);

  std::shared_ptr<optim::Arena> arena_;
  std::shared_ptr<const std::vector<Bucket>> buckets_;
  Reduction reduction_;
  std::vector<std::size_t> bucket_of_;     // by place; SIZE_MAX if it does not train
  std::vector<std::int64_t> pending_;      // by bucket: places whose gradient is not complete
  std::vector<std::uint8_t> used_;         // by place
  std::vector<std::uint8_t> complete_;     // by place: already counted in pending_
  std::vector<std::vector<Tensor>> flat_;  // by bucket, by run: its gradients
  std::vector<std::size_t> ready_;
  std::optional<Clock::time_point> first_launch_;
  CommHook hook_;
  Tensor non_finite_;  // by place: not 0 if a value is not finite; undefined: not watched
  std::vector<comm::Handle> handles_;
  std::size_t next_ = 0;  // the bucket to reduce next; all ranks go in this order
  comm::Communicator* group_ = nullptr;
  double factor_ = 1;
  bool armed_ = false;
  bool finishing_ = false;
  std::int64_t backward_ = 0;  // number of the current backward, from 1
  std::int64_t backwards_ = 1;
};

}  // namespace tandem::parallel
