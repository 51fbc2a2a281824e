// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/parallel/detail/rank_replica.hpp"
#include "tandem/runtime/context.hpp"

#include "parallel/ranks/iteration_log.hpp"
#include "parallel/ranks/rank_parameters.hpp"
#include "parallel/ranks/unused_parameters.hpp"
#include "parallel/replicas/device/device_replica.hpp"

namespace tandem::parallel {

// Note [When a rank's reduction ends]: hooks start a bucket's reduction when its last gradient is
// made. Nothing marks the end of a backward. So the reduction is completed by whatever reads a
// gradient next, through its GradientSource, or by the next forward. During a backward
// (Phase::backward) a source is asked about the leaf to which a gradient is added; then it only
// checks that this gradient is not being reduced already.
//
// Where failed backwards are given up (RankParameters), the ops of a forward are marked. If their
// backward has not ended when the reduction is to be completed, it has failed.

/// The gradients of a rank's parameters: how they are reduced, and who completes the reduction.
///
/// To be used on the rank's thread.
class RankGradients {
 public:
  /// Begins to watch the gradients of the replica's parameters. The arguments must outlive this
  /// object.
  RankGradients(DeviceReplica& replica,
                comm::Communicator& comm,
                const DistributedDataParallelOptions& options,
                std::shared_ptr<RankParameters> parameters);
  RankGradients(const RankGradients&) = delete;
  RankGradients& operator=(const RankGradients&) = delete;

  GradientSync syncs() const noexcept { return syncs_; }
  void set_syncs(GradientSync sync) noexcept { syncs_ = sync; }
  /// @throws InvalidArgument  a backward is under way; there is a hook already.
  void set_hook(CommHook hook);
  /// Sets by how many ranks the sum is divided.
  void divide_by(int ranks) const { replica_.reducer()->set_factor(1.0 / ranks); }

  /// Prepares for the backward after a forward. It reduces if syncs() says so.
  void arm() { arm(syncs_); }
  /// The part of a rank that has joined in the others' backward: zeros, which are reduced.
  void reduce_zeros();
  /// Whether the reduction of a backward is not yet complete.
  bool is_reducing() const { return began_ && reduces_ && replica_.reducer()->is_armed(); }
  /// Completes the reduction of a backward, if there is one. Gives up one that has failed.
  /// @throws InvalidArgument  the loss does not depend on some parameters, and must.
  void complete();
  /// Marks the ops of a forward that runs in this context, if it matters whether its backward
  /// fails.
  void mark_forward(Context& c);
  /// Orders the buckets as rank 0's gradients became ready, once, before the forward after the
  /// first reduction. Collective.
  void rebuild_buckets();

  IterationLog& log() noexcept { return log_; }

 private:
  class Source;
  const optim::Arena& params() const { return *replica_.parameters(); }
  void make_reducer(const std::vector<Bucket>& buckets);
  /// Completes the reduction, after which this rank has its shares.
  /// @throws InvalidArgument  gradients have not been reduced.
  void complete_shares();
  void arm(GradientSync how);
  /// Forgets the backward that has begun, and its gradients.
  void give_up();
  /// Something reads the gradient of a place, or adds to it.
  void on_access(std::size_t place);
  /// @param missing  the places without a gradient of this rank.
  void finish(const std::vector<std::size_t>& missing);

  DeviceReplica& replica_;
  comm::Communicator& comm_;
  const DistributedDataParallelOptions& options_;
  std::shared_ptr<RankParameters> parameters_;
  IterationLog log_;
  UnusedParameters unused_;
  CommHook hook_;
  std::vector<std::shared_ptr<autograd::GradientSource>> sources_;  // by place
  std::optional<std::vector<std::size_t>> rebuild_order_;  // a rebuild is due before a forward
  GradientSync syncs_ = GradientSync::on;
  // The forwards whose backwards have begun and not ended. Tapes share it.
  std::shared_ptr<std::set<std::uint64_t>> running_ = std::make_shared<std::set<std::uint64_t>>();
  std::uint64_t forwards_ = 0;
  bool reduces_ = true;        // the backward that is armed for reduces
  bool began_ = false;         // a backward has made a gradient since the last forward
  bool awaits_first_ = false;  // the backward that is armed for has made no gradient yet
  bool unreduced_ = false;     // gradients of earlier backwards have not been reduced
};

}  // namespace tandem::parallel
