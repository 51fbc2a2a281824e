// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tandem/optim/grad_scaler.hpp"
#include "tandem/parallel/replica_error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/generator.hpp"

#include "parallel/reduce/leaves.hpp"
#include "parallel/reduce/parameter_broadcast.hpp"
#include "parallel/replicas/call/outside_gradients.hpp"
#include "parallel/replicas/call/replica_groups.hpp"
#include "parallel/replicas/call/whole_batch.hpp"
#include "parallel/replicas/device/device_replica.hpp"

namespace tandem::parallel {

class Processes;

/// A part of a step's batch that goes forward and backward on its own.
struct MicroBatch {
  std::vector<RowRange> rows;     ///< of each device
  ReplicaGroup* group = nullptr;  ///< the devices that have rows of it

  bool has_rows(int device) const { return rows[static_cast<std::size_t>(device)].size() > 0; }
};

/// Hashes of the tensors that a replica computed with, by place.
struct ReplicaHashes {
  std::vector<std::uint64_t> parameters, buffers;
};

/// A call in flight: what it is about, each device's part, and how it ends.
///
/// While the call runs, a part belongs to its device's thread. Other threads may read it after a
/// vote.
struct Call {
  /// One device's part.
  struct Part {
    DeviceReplica* replica = nullptr;
    RowRange rows;        ///< of the batch
    bool active = false;  ///< the device has rows, or is the first one and the batch is empty
    RowRange at;          ///< the rows that it is working on, for messages
    comm::Communicator* comm = nullptr;  ///< in the call's group; null: it is alone
    WholeBatch whole;                    ///< the batch of all processes
    WholeBatch last;             ///< the last micro-batch so far of which any process has rows
    std::atomic<Phase> phase{};  ///< the replica's current phase
    std::shared_ptr<ForwardFrame> frame;
    std::shared_ptr<autograd::OutsideTensors> outside;
    ParameterBroadcast broadcast;           ///< parameters under way during forward
    optim::Arena::Versions buffers_before;  ///< versions of its buffers before forward
    std::vector<std::uint8_t> updated;      ///< by place: this device has updated the parameter
    std::exception_ptr commit_error;        ///< error in a change that it made after the vote
    ReplicaHashes hashes;
    bool loss_is_non_finite = false;
    double sum = 0, weight = 0;      ///< the loss and its weight
    bool has_weighted_loss = false;  ///< the weight is the loss's own, and not the rows
    std::vector<std::uint8_t> used;  ///< by place: 1 if any of several processes has a gradient
    WholeStep agreed;                ///< of all processes
    LeafSums leaf_sums;              ///< sums of gradients, in the bitwise mode
    std::chrono::nanoseconds forward_time{};  ///< until its loss is known
    std::chrono::nanoseconds work_time{};     ///< forward and backward, in a rehearsal

    int index() const noexcept { return replica->index(); }
    Device device() const noexcept { return replica->device(); }
    bool is_first() const noexcept { return replica->index() == 0; }
    /// Whether the call has no other devices of this process.
    bool is_alone() const noexcept { return comm == nullptr; }
    std::int64_t row_count() const noexcept { return rows.size(); }
    /// Keeps an error of a change after the vote, unless there is an earlier one.
    void note_commit_error(std::exception_ptr error) {
      if (!commit_error) commit_error = std::move(error);
    }
    /// Rows of this process's batch, in the batch of all processes.
    RowRange in_whole(RowRange own) const noexcept {
      return {whole.before + own.begin, whole.before + own.end};
    }
    /// This process's share of all rows, by which its mean counts in the mean over them.
    double share_of_process(const Call& call) const;
    /// What the user's functions are told about the part.
    Replica argument(double share = 1) noexcept { return {index(), device(), at, &phase, share}; }
  };

  Call(const std::vector<std::unique_ptr<DeviceReplica>>& replicas,
       const std::vector<RowRange>& rows,
       ReplicaGroup& g);

  Part& part(int device) { return parts[static_cast<std::size_t>(device)]; }
  const Part& part(int device) const { return parts[static_cast<std::size_t>(device)]; }
  std::vector<RowRange> rows() const;
  /// Each device's rows in the last forward.
  std::vector<RowRange> last_rows() const;
  /// Devices that share the cores: those with rows, whose number is the same in all modes, since
  /// some ops have other bits with another number of threads; all, if none has.
  int working() const;
  bool accumulates() const noexcept { return micro_batches.size() > 1; }
  /// Tensors from outside, by device.
  OutsideByDevice outside() const;
  /// Whether any replica's tape ends at a tensor from outside. Known once all have gone forward.
  bool has_outside() const;
  /// Whether any replica drew random numbers.
  bool drew() const;
  optim::GradScaler::Overflow overflow() const noexcept {
    using enum optim::GradScaler::Overflow;
    return gradients_are_non_finite ? yes : no;
  }
  /// The first error, preferably the cause and not one of its consequences. Null: all went well.
  std::exception_ptr commit_error() const noexcept;
  void abort(const std::string& reason) noexcept;
  void reset();
  /// Called before the vote. @throws CommAborted  the call was cancelled.
  void seal();
  /// Aborts the call unless it is sealed.
  void cancel(const std::string& reason) noexcept;

  std::vector<Part> parts;  ///< by device
  RowRange batch;
  ReplicaGroup& group;
  const Processes* processes;             ///< that take part
  std::vector<MicroBatch> micro_batches;  ///< of a step; otherwise empty
  /// Versions of what device 0 has when the call begins, by block and by place.
  struct Values {
    bool send = false;  ///< some device of the group lacks these values
    std::vector<std::uint64_t> blocks;
    optim::Arena::Versions places;
  } parameters, buffers;
  Deadline deadline;
  const std::shared_ptr<AbortToken> stop = std::make_shared<AbortToken>();  ///< set by cancel
  GeneratorState numbers;  ///< the random generator's state before this call
  std::optional<double> loss_scale;
  bool shared_update = false;  ///< all devices take part in the optimizer's update
  bool compares = false;       ///< this step compares the replicas' values
  /// Kinds of losses that replicas have returned. One that waits for weights must not wait for one
  /// that has none.
  std::atomic<bool> has_weighted_losses{false}, has_mean_losses{false};
  // Note [Steps without effect], non_finite_check.cpp
  std::atomic<bool> gradients_are_non_finite{false};
  std::atomic<bool> has_no_effect{false};  ///< set before the vote

 private:
  enum class Ending : std::uint8_t { open, cancelled, sealed };  // Note [Cancelled or agreed]
  std::atomic<Ending> ending_{Ending::open};
};

/// Runs `f` on a part's thread in `phase`. If it fails, the part keeps the phase, for the error.
template <class F>
decltype(auto) in_phase(Call::Part& part, Phase phase, F&& f) {
  part.phase.store(phase, std::memory_order_relaxed);
  const ContextScope scope([&](Context& c) { c.phase = phase; });
  return f();
}

/// Waits until every device of the call has reached this point.
inline void vote(const Call::Part& part) {
  if (!part.is_alone()) part.comm->barrier();
}
/// Completes the reduction of a part's gradients.
void finish_reduction(const Call& call, Call::Part& part);
/// Runs a part's update, and notes in which places it changed values.
void note_update(Call::Part& part, const std::function<void()>& update);
/// Tells the other processes how many rows the part has.
void exchange_rows(const Call& call, Call::Part& part);
/// Tells a context of a forward which rows of the batch of all processes a device works on.
///
/// @param group  the devices of this process that have rows.
void enter_rows(
    Context& c, const Call& call, const Call::Part& part, RowRange rows, const ReplicaGroup& group);
/// The vote after which the call takes effect.
void agree(Call& call, Call::Part& part);

}  // namespace tandem::parallel
