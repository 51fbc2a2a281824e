// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/comm/group.hpp"
#include "tandem/comm/row_group_adapter.hpp"
#include "tandem/parallel/replica_set.hpp"
#include "tandem/runtime/generator.hpp"

#include "parallel/buckets.hpp"
#include "parallel/call_gate.hpp"
#include "parallel/gradient_snapshot.hpp"
#include "parallel/leaves.hpp"
#include "parallel/outside_gradients.hpp"
#include "parallel/parameter_hooks.hpp"
#include "parallel/transfers.hpp"
#include "parallel/update_sharing.hpp"

namespace tandem::parallel {

/// A device has rows, or is the first one and the batch is empty.
inline bool active(const std::vector<RowRange>& rows, int rank) {
  return detail::has_part(rows, static_cast<std::size_t>(rank));
}
/// The first device that has rows; -1: none.
int first_active(const std::vector<RowRange>& rows);

/// The ranks that take part in a call: those with rows, and device 0, which owns the model.
struct Group {
  std::vector<int> ranks;                                     // of devices, ascending
  std::vector<std::unique_ptr<comm::Communicator>> world;     // by position in `ranks`
  std::map<int, std::unique_ptr<comm::Communicator>> active;  // by device, of those with rows
  std::map<int, std::shared_ptr<RowGroup>> rows;              // over `active`

  /// Null where the device is alone: nothing to talk to.
  comm::Communicator* comm_of(int device) const noexcept;
  void abort(const std::string& reason) noexcept;
  void reset();
};

/// A part of a step's batch that goes forward and backward at once.
struct MicroBatch {
  std::vector<RowRange> rows;  // by device
  Group* group = nullptr;      // of the devices that have rows of it

  bool active(int rank) const { return tandem::parallel::active(rows, rank); }
};

/// What a replica computed with (drift.cpp), by place.
struct ReplicaHashes {
  std::vector<std::uint64_t> parameters, buffers;
};

/// A call in flight.
struct Call {
  std::vector<RowRange> rows;
  std::vector<RowRange> at;  // by device: what it works on, for messages
  Group* group = nullptr;
  std::vector<MicroBatch> micro_batches;  // of a step
  bool replicate_parameters = false;
  bool replicate_buffers = false;
  std::vector<std::uint64_t> versions;     // of the parameters, by block
  optim::Arena::Versions parameters;       // of device 0's, by place
  optim::Arena::Versions buffers;          // of the module's, by place
  std::vector<std::atomic<Phase>> phases;  // where each replica is
  Deadline deadline;
  GeneratorState numbers;                             // before this call
  std::vector<std::shared_ptr<ForwardFrame>> frames;  // by device
  OutsideByDevice outside;
  std::shared_ptr<const ParameterHooks> hooks;    // of a step; null: none
  std::vector<std::exception_ptr> commit_errors;  // by device: of what it changes after the vote
  std::vector<optim::Arena::Versions> buffer_versions;  // by device: before forward
  std::vector<Transfers> transfers;                     // by device: of parameters, during forward
  bool shared_update = false;                           // all devices make the optimizer's update
  std::vector<std::vector<std::uint8_t>> updated;  // by device, by place: it made an update there
  std::vector<ReplicaHashes> hashes;               // by device; empty where they are not asked for
  // Note [Steps without effect], non_finite.cpp
  std::optional<double> loss_scale;
  std::vector<std::uint8_t> loss_is_non_finite;  // by device
  std::atomic<bool> gradients_are_non_finite{false};
  std::atomic<bool> has_no_effect{false};                        // set before the vote
  enum class Ending : std::uint8_t { open, cancelled, sealed };  // Note [Cancelled or agreed]
  std::atomic<Ending> ending{Ending::open};

  explicit Call(std::vector<RowRange> r)
      : rows(std::move(r)),
        at(rows),
        phases(rows.size()),
        frames(rows.size()),
        outside(rows.size()),
        commit_errors(rows.size()),
        transfers(rows.size()),
        updated(rows.size()),
        loss_is_non_finite(rows.size()) {}
  bool active(int rank) const { return tandem::parallel::active(rows, rank); }
  /// A replica's tape has ended at a tensor from outside; once all have gone forward.
  bool has_outside() const;
  std::int64_t batch_rows() const { return rows.back().end - rows.front().begin; }
  bool accumulates() const noexcept { return micro_batches.size() > 1; }
  void abort(const std::string& reason) noexcept;
  void reset();
  /// Before the vote. @throws CommAborted  it has been cancelled.
  void seal();
  /// Aborts it, unless it is sealed.
  void cancel(const std::string& reason) noexcept;
  optim::GradScaler::Overflow overflow() const noexcept {
    using enum optim::GradScaler::Overflow;
    return gradients_are_non_finite ? yes : no;
  }
  /// The cause rather than what it did to the others; null: all went well.
  std::exception_ptr commit_error() const noexcept;
};

/// What the replicas' threads find out in a step.
struct StepOutcome {
  std::vector<double> sums, weights;            // by device
  std::vector<std::chrono::nanoseconds> times;  // by device: of forward, until its loss is known
  /// By device, of a step without effect: of forward and backward, until the device has done them.
  std::vector<std::chrono::nanoseconds> work_times;
  // In the bitwise mode:
  std::vector<Leaf> leaves;
  std::vector<std::pair<double, double>> leaf_losses;  // sum and weight
  std::vector<LeafSums> sums_of_leaves;                // by device: gradients

  void resize(std::size_t devices) {
    sums.resize(devices);
    weights.resize(devices);
    times.resize(devices);
    work_times.resize(devices);
  }
};

/// A replica's loss, on the tape and as numbers.
struct ReplicaLoss {
  WeightedSum part;
  double sum = 0;
  double weight = 0;
};

struct ReplicaSet::State {
  State(std::vector<nn::Module*> modules,
        std::vector<Device> devices,
        const DataParallelOptions& options);

  // ---- what the replicas are (replica_state.cpp) ----
  void bind_parameters();
  void bind_sharing(const std::shared_ptr<const std::vector<Bucket>>& buckets);
  void bind_buffers();
  void place_tensors(int rank, const optim::Arena& original, const optim::ArenaReplica& replica);
  void set_hooks();
  void clear_hooks() noexcept;

  // ---- what becomes of the module (module_life.cpp) ----
  /// Keeps what the module is like, and marks its parts and replicas as wrapped.
  void note_module();
  /// Keeps which parameters train, and claims the tensors.
  void note_tensors();
  /// By place of params.
  std::vector<bool> training_places() const;
  /// Binds the parameters anew where some were frozen or unfrozen since. Earlier tapes go.
  void follow_training();
  /// @throws InvalidArgument  the calling thread works for a replica.
  static void check_outside();
  /// @throws InvalidArgument  the module is not as it was when it was wrapped.
  void check_module() const;
  /// Gives the replicas the module's mode and hooks.
  void follow_module();

  /// Puts `tensors` (by place) in the module's places of buffers: its own, or replica 0's private
  /// ones.
  void show_buffers(const std::vector<Tensor>& tensors);

  // ---- how calls run (replica_call.cpp) ----
  /// Begins a call of the user's. @throws InvalidArgument  this is not the time or the place.
  CallGate::Pass enter() {
    check_outside();
    return CallGate::Pass(gate);
  }
  /// @throws InvalidArgument  the arguments of a step contradict each other, or the state.
  void check_step(const std::vector<RowRange>& planned,
                  const optim::Optimizer* optimizer,
                  const StepOptions& step) const;
  enum class Members : std::uint8_t { active, all };
  Group& group_for(const std::vector<RowRange>& rows, Members members = Members::active);
  std::shared_ptr<Call> begin(const std::vector<RowRange>& rows, Members members = Members::active);
  /// A call that goes through an earlier one's tapes: nothing is sent.
  std::shared_ptr<Call> begin_backward(const std::vector<RowRange>& rows);
  /// A call without rows, of all devices.
  std::shared_ptr<Call> begin_everywhere();
  /// Makes the micro-batches of a step.
  void cut(Call& call);
  /// Runs `job(rank)` on the devices of the call's group. @throws ReplicaError, Timeout
  void run(const std::shared_ptr<Call>& call, Phase phase, std::function<void(int rank)> job);
  /// The jobs of a call, by whose thread they are for.
  struct Jobs {
    std::vector<std::unique_ptr<Worker>> started;  // for this call alone, as nn.DataParallel does
    std::vector<std::pair<int, Ticket>> tickets;
    std::vector<int> own;      // this thread's: the only replica
    Worker* worker = nullptr;  // whose thread this is; null: none of these devices'
  };
  /// Gives each device its job; all or, where that fails, the first ones and an error.
  void submit(Call& call,
              Phase phase,
              const std::function<void(int rank)>& attempt,
              Jobs& jobs,
              std::vector<std::exception_ptr>& errors) const;
  std::shared_ptr<const Context> replica_context(Call& call, int rank, Phase phase) const;
  /// What the replicas threw; null where one ended well. @throws Timeout  one passed the deadline.
  void collect(Call& call, Jobs& jobs, std::vector<std::exception_ptr>& errors);
  /// Notes that a replica hangs, and frees the others.
  void note_late(Call& call, int rank);
  // ---- the parts of a call, each on its replica's thread ----
  /// Parameters may still be on their way afterwards; who touches them waits.
  void replicate(Call& call, int rank);
  /// Waits for parameters that nobody has touched.
  void end_replicate(Call& call, int rank);
  /// Of all micro-batches; the gradients are those of the whole batch at the end.
  void forward_and_backward(Call& call, int rank, const LossBody& body, StepOutcome& outcome);
  ReplicaLoss loss_of(Call& call, int rank, const LossBody& body);
  void run_micro_batch(
      Call& call, int rank, std::size_t index, const LossBody& body, StepOutcome& outcome);
  /// The weight of the whole batch, once a replica knows its own part.
  ///
  /// @throws InvalidArgument  it is 0, as inspect_weight says.
  Tensor total_weight(Call& call, int rank, double own) const;
  /// Divides the gradients of earlier micro-batches by the batch's weight in place of its rows.
  void rescale_gradients(const Call& call, int rank, const Tensor& total) const;
  // ---- the bitwise mode (replica_bitwise.cpp) ----
  bool is_bitwise() const noexcept { return options.bitwise_leaves > 0; }
  /// @return rows of each device, which are whole leaves.
  std::vector<RowRange> cut_into_leaves(const std::vector<RowRange>& rows,
                                        StepOutcome& outcome) const;
  void run_leaf(Call& call, int rank, std::size_t leaf, const LossBody& body, StepOutcome& outcome);
  /// In place of forward, backward and reduction: the gradients are on device 0 at the end.
  void run_leaves(Call& call, int rank, const LossBody& body, StepOutcome& outcome);
  void join_leaves(Call& call, StepOutcome& outcome);
  void step_replica(Call& call,
                    int rank,
                    const LossBody& body,
                    optim::Optimizer* optimizer,
                    StepOutcome& outcome);

  // ---- gradients (replica_gradients.cpp) ----
  /// Makes reading the module's gradients bring them together.
  void set_gradient_sources(const std::shared_ptr<State>& self);
  void bind_gradient_source();
  void complete_gradients();
  /// A backward is to come: what it would change, to be put back if it fails.
  GradientSnapshot begin_gradients();
  void restore(const GradientSnapshot& snapshot);
  /// After a backward that went well.
  void note_reduction() noexcept;
  /// Reduces what backwards under no_sync have left in the replicas.
  void sync_gradients();
  /// Readies a replica's gradients for a backward: those of other devices than 0 start from
  /// nothing.
  void arm(Call& call, int rank);
  void drop_gradients(int rank) const;
  /// Ends the reduction of a replica's gradients.
  void reduce(Call& call, int rank);
  /// Marks the module's gradients that some replica made, also where replica 0 made none.
  void adopt_gradients(const Call& call);
  /// Lets the user's hooks of the parameters see the reduced gradients.
  void run_hooks(Call& call, int rank);
  /// In a step with an optimizer, after the vote: the gradients of tensors from outside.
  void pass_outside(Call& call, int rank, const StepOutcome& outcome, optim::Optimizer& optimizer);
  /// What the gradients that replicas made have to be multiplied by, as those of parameters were.
  double outside_factor(const Call& call, const StepOutcome& outcome) const;
  void vote(Call& call, int rank);
  /// The vote after which the call takes effect.
  void agree(Call& call, int rank);
  /// The optimizer's part of a replica, after the vote.
  void update(Call& call, int rank, optim::Optimizer& optimizer);
  /// Runs `part` on every device, as an update of all: an optimizer's step outside of a call.
  void update_everywhere(const std::function<void(int rank)>& part);

  // ---- buffers (buffer_merge.cpp) ----
  void bind_buffer_rules();
  /// The module's value is made of several replicas'.
  bool combines(std::size_t place) const;
  /// Makes, in replica 0's, what takes the values of several replicas.
  void combine_buffers(Call& call, int rank);
  void merge_buffers(Call& call, int rank);
  /// Versions of an arena's values, by block.
  static std::vector<std::uint64_t> versions_of(const optim::Arena& arena);
  /// Some replica has written into its private buffers.
  bool wrote_buffers(const Call& call) const;
  /// A forward is to come, which may write into buffers, and may fail.
  void expect_writes(const Call& call);
  /// Notes whose private buffers are the module's, after a call that went well.
  void note_buffers(const Call& call);
  /// Gives the buffers of a micro-batch to replicas that had no rows of it.
  void follow_buffers(Call& call, int rank, const MicroBatch& part);

  // ---- infinities and NaN (non_finite.cpp) ----
  void inspect_loss(Call& call, int rank, double sum) const;
  /// The loss is not a number to go on with, as `text` says: an error, a skipped step, or noted.
  void note_bad_loss(Call& call, int rank, const std::string& text) const;
  /// The same for the batch's weight, without which there is no mean loss.
  void inspect_weight(Call& call, int rank, double total) const;
  /// Scales the reduced gradients back where the loss was scaled, and looks at them if asked to.
  void inspect_gradients(Call& call, int rank);
  /// The reduced gradients that a replica updates by.
  std::vector<Tensor> reduced_gradients(int rank) const;
  /// @throws ReplicaError  gradients are not finite, and that is an error.
  StepResult result_of(Call& call, const StepOutcome& outcome);
  std::optional<NonFiniteValue> find_non_finite(const Call& call) const;
  [[noreturn]] void refuse_gradients(Call& call, const NonFiniteValue& found);

  // ---- drift (drift.cpp) ----
  /// Asks for hashes where this step's turn has come.
  void watch_drift(Call& call) const;
  void hash_buffers(Call& call, int rank) const;
  /// @throws ReplicaDrift  this replica has computed with other values than device 0's.
  void check_drift(Call& call, int rank);

  /// After a call that all replicas have agreed to. @throws  what the update did: the set is
  /// poisoned then.
  void commit(const Call& call);
  Replica replica(Call& call, int rank) const;
  /// Makes a device's update, and notes in which places.
  template <class F>
  void note_update(Call& call, int rank, F&& update) const;
  /// Every replica has device 0's present parameters, after an update on all devices or none.
  void mark_synced(const Call& call);
  [[noreturn]] void raise(Call& call, std::vector<std::exception_ptr> errors);
  void poison(const std::string& reason);

  std::vector<nn::Module*> modules;
  std::vector<Device> devices;
  DataParallelOptions options;
  ChunkPolicy policy;
  std::vector<std::shared_ptr<optim::Arena>> params;   // by device; null where the module has none
  std::shared_ptr<optim::Arena> master_buffers;        // the module's own
  std::vector<std::shared_ptr<optim::Arena>> buffers;  // by device: private
  std::vector<Tensor> own_buffers;                     // by place of master_buffers: the module's
  std::vector<Tensor> private_buffers;                 // by place: what replica 0 writes in a call
  std::vector<BucketReducer> reducers;                 // by device
  std::vector<Bucket> transfers;                       // in which parameters are sent
  std::shared_ptr<UpdateSharing> sharing;              // null where device 0 updates
  std::vector<std::vector<std::uint64_t>> synced;      // by device, by block: version last received
  // By device, by block: the version of the module's buffers that its private ones equal.
  std::vector<std::vector<std::uint64_t>> buffers_synced;
  bool replicas_agree =
      false;  // what replicas write into buffers is the same on all that have rows
  std::vector<BufferMerge> buffer_merges;  // by place of master_buffers
  std::vector<bool> trains;                // by place of params: when they were bound
  bool rebinds = false;                    // they are being bound anew
  std::uint64_t generation = 0;            // how often they were
  std::vector<std::uint64_t> realms;       // by device: its replica's, see Note [Tapes of replicas]
  std::int64_t steps = 0;                  // that have been committed
  // By active devices, and whether the others are in it too.
  std::map<std::pair<std::vector<int>, bool>, std::unique_ptr<Group>> groups;
  std::shared_ptr<autograd::GradientSource> gradient_source;  // of the module's gradients
  bool syncs = true;                                          // backwards reduce their gradients
  bool unreduced = false;  // replicas have gradients of earlier backwards
  std::string poisoned;
  std::vector<std::unique_ptr<Worker>> late_workers;  // of mode classic, that may hang
  std::atomic<bool> running{false};
  CallGate gate;
  // Of the marks of modules and replicas.
  std::shared_ptr<const int> token = std::make_shared<const int>(0);
};

/// Runs `f` on `rank`'s thread as `phase`; where it fails, the phase stays noted for the error.
template <class F>
decltype(auto) in_phase(Call& call, int rank, Phase phase, F&& f) {
  call.phases[static_cast<std::size_t>(rank)].store(phase, std::memory_order_relaxed);
  const ContextScope scope([&](Context& c) { c.phase = phase; });
  return f();
}

}  // namespace tandem::parallel
