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
#include "tandem/parallel/rank_replica.hpp"

#include "parallel/device_replica.hpp"

namespace tandem::parallel {

// Note [When a rank's reduction ends]: hooks start a bucket's reduction when its last gradient is
// made. Nothing tells the end of a backward, so the rest is done by whoever reads a gradient next,
// by way of its GradientSource, or by the next forward. What a source is asked for in a backward
// (Phase::backward) is the leaf that is to be added to: it only must not be under way already.

/// What all ranks tell each other before a forward.
struct Meeting {
  std::vector<std::int64_t> rows;  ///< by rank; -1: it has joined
  bool syncs = true;               ///< those that have not joined reduce their gradients

  bool is_active(int rank) const { return rows[static_cast<std::size_t>(rank)] >= 0; }
  std::int64_t all_rows() const;
  /// Of the batch of all ranks.
  RowRange range_of(int rank) const;
  int active() const;
  /// The first rank that has not joined; -1: all have.
  int first_active() const;
};

struct RankReplica::State {
  /// Of one parameter.
  class Source final : public autograd::GradientSource {
   public:
    Source(State& state, std::size_t place) : state_(state), place_(place) {}
    void complete() override { state_.complete(place_); }

   private:
    State& state_;
    std::size_t place_;
  };
  using Clock = std::chrono::steady_clock;
  /// Of the iteration under way.
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
  /// The parameters and buffers of rank `root` to all.
  void send(int root) const;
  void watch();
  void complete(std::size_t place);
  /// Ends the reduction of a backward.
  void finish();
  void refuse_missing(const std::vector<std::size_t>& missing);
  /// Notes what the first backward did not use; holds later ones against it.
  void check_static(const std::vector<std::size_t>& missing);
  /// By place: some rank has made a gradient.
  std::vector<std::uint8_t> used_anywhere() const;
  /// Once, after the first reduction: buckets by the order in which rank 0's gradients were ready.
  void rebuild_buckets();
  void arm(GradientSync how);
  void note_iteration();
  /// A backward's reduction has not ended.
  bool is_reducing() const { return began && reduces && replica.reducer()->is_armed(); }

  // ---- rank_join.cpp ----
  /// @param rows  -1: this rank has joined.
  Meeting meet(std::int64_t rows);
  /// What every rank does before a forward of those that are active, joined ones too.
  Meeting prepare(std::int64_t rows);
  /// Takes part in what the others do until they have joined too.
  void shadow();

  nn::Module& module;
  comm::Communicator& comm;
  DistributedDataParallelOptions options;
  DeviceReplica replica;
  CommHook hook;
  std::vector<std::shared_ptr<Source>> sources;                       // by place
  std::shared_ptr<RowGroup> row_group;                                // of the active ranks
  std::vector<bool> row_members;                                      // by rank: of row_group
  std::shared_ptr<const int> token = std::make_shared<const int>(0);  // of the marks of the module
  GradientSync sync = GradientSync::on;
  bool reduces = true;     // the backward that is armed for
  bool began = false;      // a backward has made a gradient since the last forward
  bool unreduced = false;  // gradients of earlier backwards have not been reduced
  double weight = 1;       // of this rank's outputs: 1 where all ranks have as many rows
  std::uint64_t forwards;  // top-level ones before the next
  std::optional<std::vector<std::uint8_t>> static_used;    // by place: by some rank
  std::optional<std::vector<std::size_t>> static_missing;  // on this rank
  std::optional<std::vector<std::size_t>> rebuild_order;   // due before the next forward
  std::optional<JoinOptions> joining;
  bool has_joined = false;
  int authority = 0;  // the first rank of those that joined last
  Moments moments;
  DdpLoggingData log;                   // but for the order of gradients
  std::vector<std::size_t> last_ready;  // places, of the iteration before
  std::int64_t timed = 0;               // iterations in log.avg
};

}  // namespace tandem::parallel
