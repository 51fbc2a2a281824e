// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "tandem/parallel/buffer_rule.hpp"

#include "parallel/replicas/module/module_parameters.hpp"

namespace tandem::parallel {

/// The module's buffers, and the replicas' private copies that a call reads and writes.
///
/// Once all replicas have agreed to the call, the copies are merged into the module's buffers by
/// the rules in DataParallelOptions::buffers. So a call that fails does not change the module's
/// buffers.
class ModuleBuffers {
 public:
  /// Allocates the copies on all devices.
  ///
  /// @param in_evaluation  whether what a forward writes in evaluation comes to the module, too.
  /// @throws InvalidArgument  a rule names no buffer, or does not fit its dtype.
  ModuleBuffers(const Replicas& replicas,
                const ModeRules& rules,
                const std::vector<BufferRule>& buffer_rules,
                bool in_evaluation);

  /// The module's buffers.
  const std::shared_ptr<optim::Arena>& arena() const noexcept { return master_; }
  /// Puts the private copies into the module until the end of the scope, even if an exception ends
  /// it.
  class Shown {
   public:
    explicit Shown(const ModuleBuffers& buffers) : buffers_(buffers) {
      buffers_.show(buffers_.private_);
    }
    ~Shown() { buffers_.show(buffers_.own_); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    const ModuleBuffers& buffers_;
  };

  /// Whether a forward in training may change buffers: there are some, and the module trains.
  bool train() const { return !own_.empty() && first().source().is_training(); }
  /// Notes in the call which values the module has, and whether a device of its group lacks them.
  void begin(Call& call) const;
  /// Called before a forward, which may write to the copies and may fail.
  void expect_writes(const Call& call) const;
  /// Sends the values to devices that lack them. Called on a part's thread.
  void send(Call& call, Call::Part& part) const;
  /// Gives the copies of a micro-batch to the replicas that had no rows in it.
  void follow(Call& call, Call::Part& part, const MicroBatch& micro_batch) const;
  /// Computes, in replica 0's copies, the values that combine several replicas. Called before the
  /// vote.
  void combine(Call& call, Call::Part& part) const;
  /// Copies the result into the module's buffers. Called after the vote, for device 0's part.
  void merge(Call& call, Call::Part& part) const;
  /// After a successful call, notes which devices' copies equal the module's buffers.
  void note_written(const Call& call) const;

 private:
  /// Gives the copies of a micro-batch to all devices of all processes.
  void follow_processes(const Call& call, const Call::Part& part) const;
  /// The same as combine for the copies of all processes, which then are equal.
  void combine_processes(const Call& call, const Call::Part& part) const;
  void bind_rules(const std::vector<BufferRule>& rules);
  /// Whether the module's value is computed from several replicas.
  bool combines(std::size_t place) const { return merges_[place] != BufferMerge::first; }
  /// Whether what a forward writes comes to the module.
  bool bring_writes() const { return train() || (in_evaluation_ && !own_.empty()); }
  /// Whether any replica has written to its copies.
  static bool wrote(const Call& call);
  /// Makes `tensors` (by place) the module's buffers.
  void show(const std::vector<Tensor>& tensors) const;
  DeviceReplica& first() const noexcept { return *replicas_.front(); }

  const Replicas& replicas_;
  const ModeRules& rules_;
  const bool in_evaluation_;
  std::shared_ptr<optim::Arena> master_;
  std::vector<Tensor> own_;          // by place: the module's own buffers
  std::vector<Tensor> private_;      // by place: the copies that replica 0 writes in a call
  std::vector<BufferMerge> merges_;  // by place
  bool replicas_agree_ = false;      // all replicas with rows write the same values
};

}  // namespace tandem::parallel
