// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "parallel/module_parameters.hpp"

namespace tandem::parallel {

/// The module's buffers, and the replicas' private copies that a call reads and writes.
///
/// The copies become the module's value when the call has been agreed to, by the rules of
/// DataParallelOptions::buffers. So a call that fails leaves the module's buffers alone.
class ModuleBuffers {
 public:
  /// Lays out the copies on all devices.
  ///
  /// @throws InvalidArgument  a rule names no buffer, or does not fit its type.
  ModuleBuffers(const Replicas& replicas,
                const ModeRules& rules,
                const std::vector<BufferRule>& buffer_rules);

  /// The module's; null if it has none.
  const std::shared_ptr<optim::Arena>& arena() const noexcept { return master_; }
  /// Shows the module its private copies until the end of the scope, whichever way that comes.
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

  /// Notes in a call what the module has, and whether a device of its group lacks it.
  void begin(Call& call) const;
  /// A forward is to come, which may write into the copies, and may fail.
  void expect_writes(const Call& call) const;
  /// Sends the values where they lack; in a part's thread.
  void send(Call& call, Call::Part& part) const;
  /// Gives the copies of a micro-batch to replicas that had no rows of it.
  void follow(Call& call, Call::Part& part, const MicroBatch& micro_batch) const;
  /// Makes, in replica 0's copies, what takes the values of several replicas; before the vote.
  void combine(Call& call, Call::Part& part) const;
  /// Copies the result into the module's buffers; after the vote, by device 0's thread.
  void merge(Call& call, Call::Part& part) const;
  /// Notes whose copies are the module's, after a call that went well.
  void note_written(const Call& call) const;

 private:
  void bind_rules(const std::vector<BufferRule>& rules);
  /// The module's value is made of several replicas'.
  bool combines(std::size_t place) const { return merges_[place] != BufferMerge::first; }
  bool may_be_written() const { return master_ != nullptr && first().module().is_training(); }
  /// Some replica has written into its copies.
  static bool wrote(const Call& call);
  /// Puts `tensors` (by place) in the module's places of buffers.
  void show(const std::vector<Tensor>& tensors) const;
  DeviceReplica& first() const noexcept { return *replicas_.front(); }

  const Replicas& replicas_;
  const ModeRules& rules_;
  std::shared_ptr<optim::Arena> master_;
  std::vector<Tensor> own_;          // by place: the module's
  std::vector<Tensor> private_;      // by place: what replica 0 writes in a call
  std::vector<BufferMerge> merges_;  // by place
  bool replicas_agree_ = false;      // what replicas write is the same on all that have rows
};

}  // namespace tandem::parallel
