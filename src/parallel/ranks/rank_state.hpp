// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/autograd/row_group.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"

#include "parallel/replicas/device_replica.hpp"

namespace tandem::parallel {

// Note [When a rank's reduction ends]: hooks start a bucket's reduction when its last gradient is
// made. Nothing marks the end of a backward. So the reduction is completed by whatever reads a
// gradient next, through its GradientSource, or by the next forward. During a backward
// (Phase::backward) a source is asked about the leaf to which a gradient is added; then it only
// checks that this gradient is not being reduced already.

/// What the ranks tell each other before a forward.
struct ForwardRows {
  std::vector<std::int64_t> rows;  ///< by rank; -1: the rank has joined
  bool syncs = true;               ///< the ranks that have not joined reduce their gradients

  bool is_active(int rank) const { return rows[static_cast<std::size_t>(rank)] >= 0; }
  std::int64_t all_rows() const;
  /// A rank's rows in the batch of all ranks.
  RowRange range_of(int rank) const;
  int active() const;
  /// The first rank that has not joined; -1 if all have.
  int first_active() const;
};

struct RankReplica::State {
  /// The gradient source of one parameter.
  class Source final : public autograd::GradientSource {
   public:
    Source(State& state, std::size_t place) : state_(state), place_(place) {}
    void complete() override { state_.complete(place_); }

   private:
    State& state_;
    std::size_t place_;
  };
  using Clock = std::chrono::steady_clock;
  /// Times of the current iteration.
  struct Moments {
    Clock::time_point forward_begin, forward_end, last_gradient;
  };

  State(nn::Module& m, comm::Communicator& c, const DistributedDataParallelOptions& o);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // ---- rank_replica.cpp ----
  const optim::Arena& params() const { return *replica.parameters(); }
  void check_module() const;
  void make_reducer(std::vector<Bucket> buckets);
  /// Sends the parameters and buffers of rank `root` to all ranks.
  void send(int root) const;
  void watch();
  void complete(std::size_t place);
  /// Completes the reduction of a backward.
  void finish();
  void refuse_missing(const std::vector<std::size_t>& missing);
  /// Notes what the first backward did not use, and checks later ones against it.
  void check_static(const std::vector<std::size_t>& missing);
  /// By place: some rank has made a gradient.
  std::vector<std::uint8_t> used_anywhere() const;
  /// Once, after the first reduction: orders the buckets as rank 0's gradients became ready.
  void rebuild_buckets();
  void arm(GradientSync how);
  void note_iteration();
  /// Whether the reduction of a backward is not yet complete.
  bool is_reducing() const { return began && reduces && replica.reducer()->is_armed(); }

  // ---- rank_join.cpp ----
  /// @param rows  -1: this rank has joined.
  ForwardRows exchange_rows(std::int64_t rows);
  /// What every rank, joined or not, does before a forward of the active ranks.
  ForwardRows prepare(std::int64_t rows);
  /// Takes part in the others' exchanges until they have joined too.
  void shadow();

  nn::Module& module;
  comm::Communicator& comm;
  DistributedDataParallelOptions options;
  DeviceReplica replica;
  CommHook hook;
  std::vector<std::shared_ptr<Source>> sources;                       // by place
  std::shared_ptr<RowGroup> row_group;                                // of the active ranks
  std::vector<bool> row_members;                                      // by rank: of row_group
  std::shared_ptr<const int> token = std::make_shared<const int>(0);  // for the marks on the module
  GradientSync sync = GradientSync::on;
  bool reduces = true;     // the backward that is armed for reduces
  bool began = false;      // a backward has made a gradient since the last forward
  bool unreduced = false;  // gradients of earlier backwards have not been reduced
  double weight = 1;       // of this rank's outputs; 1 if all ranks have equally many rows
  std::uint64_t forwards;  // top-level forwards so far
  std::optional<std::vector<std::uint8_t>> static_used;    // by place: used by some rank
  std::optional<std::vector<std::size_t>> static_missing;  // places not used on this rank
  std::optional<std::vector<std::size_t>> rebuild_order;   // rebuild is due before the next forward
  std::optional<JoinOptions> joining;
  bool has_joined = false;
  int authority = 0;  // the first of the ranks that joined last
  Moments moments;
  DdpLoggingData log;                   // all but the order of gradients
  std::vector<std::size_t> last_ready;  // places, in the order of the last iteration
  std::int64_t timed = 0;               // iterations in log.avg
};

}  // namespace tandem::parallel
