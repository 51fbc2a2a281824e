// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tandem/comm/collective.hpp"
#include "tandem/comm/handle.hpp"
#include "tandem/core/error.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::comm {

class Meeting;  // src/comm/meeting.hpp: where the ranks of a group meet

/// One rank of a group of devices that exchange tensors.
///
/// Collective: every rank of the group makes the same calls in the same order, each from its own
/// thread. Only one thread at a time may use a rank; `abort` may be called from any thread.
///
/// Tensors must be dense in row-major order and on the rank's device. They are written in place,
/// off the tape. Before data moves, the ranks compare operation, dtype, count, reduction, root and
/// algorithm. Every wait for other ranks ends by the group's time-out, the context's deadline or an
/// abort. A collective that all ranks have reached runs to its end. After any error the group
/// refuses calls until `reset`.
///
/// Values are combined in rank order. The bits depend on nothing else, and are equal on all ranks.
/// Algorithms other than "direct" have an order of their own, and round 16-bit types in each step.
/// Their bits, too, are the same each time and on all ranks. Dtypes that the reductions take:
/// - avg and premul_sum: float types;
/// - band, bor and bxor: integers and bool;
/// - sum: all but bool;
/// - min, max and product: all (the product of bools is "and").
///
/// Asynchronous: the calls named start_ return without waiting for the other ranks. On the host,
/// the last rank to arrive and all ranks that wait share the work. Any number of collectives may be
/// under way. Leave their tensors alone until their handle has been waited for.
///
/// In a group of one rank everything is done at once, in place if nothing has to be moved.
///
/// @throws InvalidArgument  a tensor is undefined, strided, on another device, or of a dtype that
///                          the reduction does not take.
/// @throws Desync       on every rank: the calls differ; the text names the field and both values.
/// @throws CommAborted  another rank failed; the text gives its reason.
/// @throws Timeout      a rank did not arrive; the text names it.
class Communicator {
 public:
  /// One of the ranks that meet there, for make_group.
  Communicator(std::shared_ptr<Meeting> meeting, int rank) noexcept;
  /// The group's other ranks get CommAborted if they use it, or wait.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int size() const noexcept;
  int rank() const noexcept { return rank_; }
  /// This rank's number among the group's ranks on its host.
  int local_rank() const noexcept;
  Device device() const noexcept;
  /// What errors call this rank: "rank 1 (cpu:1)", or, where there are several processes, "rank 1
  /// (cpu:0 of process 1 on node1, pid 4711)".
  std::string describe() const;

  /// Copies the root's `x` to every rank.
  ///
  /// @cost  x.nbytes() from the root to each other device.
  void broadcast(const Tensor& x, int root) { start_broadcast(x, root).wait(); }
  [[nodiscard]] Handle start_broadcast(const Tensor& x, int root) {
    return start(Collective::broadcast(x, root));
  }

  /// Puts the reduction of all ranks' `x` into the root's `x`. The other ranks keep theirs.
  ///
  /// @cost  x.nbytes() from each other device to the root's.
  void reduce(const Tensor& x, Reduction reduction, int root) {
    start_reduce(x, reduction, root).wait();
  }
  [[nodiscard]] Handle start_reduce(const Tensor& x, Reduction reduction, int root) {
    return start(Collective::reduce(x, reduction, root));
  }

  /// Puts the reduction of all ranks' `x` into every rank's `x`.
  ///
  /// @cost  rank r reduces the r-th even share of the elements: it gets that share from each other
  ///        rank and sends the result to each; in all 2 (N-1) x.nbytes() for N ranks.
  void all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum) {
    start_all_reduce(x, reduction).wait();
  }
  [[nodiscard]] Handle start_all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum) {
    return start(Collective::all_reduce(x, reduction));
  }

  /// Puts all ranks' `part`s, one after another in rank order, into the root's `whole`.
  ///
  /// @param part   may have any count, also zero; the counts must add up to that of `whole`.
  /// @param whole  ignored on the other ranks.
  /// @cost  part.nbytes() from each other device to the root's.
  void gather(const Tensor& part, const Tensor& whole, int root) {
    start_gather(part, whole, root).wait();
  }
  [[nodiscard]] Handle start_gather(const Tensor& part, const Tensor& whole, int root) {
    return start(Collective::gather(part, whole, root));
  }

  /// Cuts the root's `whole` into the ranks' `part`s, in rank order: the reverse of gather.
  ///
  /// @param whole  ignored on the other ranks.
  /// @cost  part.nbytes() from the root to each other device.
  void scatter(const Tensor& whole, const Tensor& part, int root) {
    start_scatter(whole, part, root).wait();
  }
  [[nodiscard]] Handle start_scatter(const Tensor& whole, const Tensor& part, int root) {
    return start(Collective::scatter(whole, part, root));
  }

  /// Puts all ranks' `part`s, one after another in rank order, into every rank's `whole`.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  part.nbytes() from each device to each other device.
  void all_gather(const Tensor& part, const Tensor& whole) { start_all_gather(part, whole).wait(); }
  [[nodiscard]] Handle start_all_gather(const Tensor& part, const Tensor& whole) {
    return start(Collective::all_gather(part, whole));
  }

  /// Cuts the reduction of all ranks' `whole` into the ranks' `part`s, in rank order.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  to each rank, its part.nbytes() from each other device.
  void reduce_scatter(const Tensor& whole,
                      const Tensor& part,
                      Reduction reduction = ReduceOp::sum) {
    start_reduce_scatter(whole, part, reduction).wait();
  }
  [[nodiscard]] Handle start_reduce_scatter(const Tensor& whole,
                                            const Tensor& part,
                                            Reduction reduction = ReduceOp::sum) {
    return start(Collective::reduce_scatter(whole, part, reduction));
  }

  /// Sends each rank its part of `input`. Puts the parts that all ranks have for this one into
  /// `output`, one after another in rank order.
  ///
  /// @param input   the parts for rank 0, 1, ...; must not share memory with `output`.
  /// @param input_counts   elements for each rank; empty: even parts.
  /// @param output_counts  elements from each rank, equal to its count for this rank; empty: even
  ///                       parts.
  /// @cost  from device r to device s, the part for rank s of rank r's input.
  void all_to_all(const Tensor& input,
                  const Tensor& output,
                  std::vector<std::int64_t> input_counts = {},
                  std::vector<std::int64_t> output_counts = {}) {
    start_all_to_all(input, output, std::move(input_counts), std::move(output_counts)).wait();
  }
  [[nodiscard]] Handle start_all_to_all(const Tensor& input,
                                        const Tensor& output,
                                        std::vector<std::int64_t> input_counts = {},
                                        std::vector<std::int64_t> output_counts = {}) {
    return start(
        Collective::all_to_all(input, output, std::move(input_counts), std::move(output_counts)));
  }

  /// Sends `x` to rank `to`, which calls recv with this rank and tag. Returns when it has arrived.
  ///
  /// Point to point: only two ranks take part, outside the order of the collectives. Calls of the
  /// same two ranks with the same tag meet in the order in which they are made. In an exchange,
  /// start one half before waiting for the other. A peer that does not arrive makes the group fail,
  /// as with collectives.
  /// @cost  x.nbytes() to the other device.
  void send(const Tensor& x, int to, int tag = 0) { start_send(x, to, tag).wait(); }
  [[nodiscard]] Handle start_send(const Tensor& x, int to, int tag = 0);

  /// Fills `x` with what rank `from` sends; with any_source, with the first message from any rank.
  ///
  /// @return  the rank that sent it.
  int recv(const Tensor& x, int from = any_source, int tag = 0) {
    Handle handle = start_recv(x, from, tag);
    handle.wait();
    return handle.source();
  }
  [[nodiscard]] Handle start_recv(const Tensor& x, int from = any_source, int tag = 0);

  /// Returns when every rank has called it.
  void barrier() { start_barrier().wait(); }
  [[nodiscard]] Handle start_barrier() { return start(Collective()); }

  /// A barrier that waits no longer than `timeout`.
  ///
  /// @throws Timeout  the text names all ranks that did not arrive.
  void monitored_barrier(std::chrono::milliseconds timeout) { start_barrier().wait_for(timeout); }

  /// Starts any collective. All calls above use it.
  [[nodiscard]] Handle start(Collective collective);

  /// Starts several collectives as one: the ranks meet once, compare all of them, and get one
  /// handle.
  ///
  /// @param collectives  any kinds and dtypes except send and recv. None may write what another
  ///                     one reads.
  /// @cost  the sum of their costs.
  [[nodiscard]] Handle start_coalesced(std::vector<Collective> collectives);
  void coalesced(std::vector<Collective> collectives) {
    start_coalesced(std::move(collectives)).wait();
  }

  /// Makes a group of the ranks that give the same color (MPI_Comm_split, PyTorch's new_group).
  ///
  /// Collective. The ranks of a group are ordered by key, then by their rank here. Groups work
  /// independently. When this group fails, so do the groups split from it, but not the other way
  /// round.
  /// @param color  0 or more; -1: this rank joins no group.
  /// @return  this rank's communicator in its new group; null if `color` is -1.
  /// @throws InvalidArgument  color is less than -1.
  std::unique_ptr<Communicator> split(int color, int key = 0);

  /// The last 1,024 operations of each rank of the group that is in this process, as JSON:
  ///
  ///     {"format", "version", "run", "process", "processes": [{"host", "pid"}],
  ///      "clock": {"origin_us", "steady_us", "wall_us", "offset_us", "error_us"},
  ///      "group", "members": [{"device", "process"}],
  ///      "failure": text or null,
  ///      "ranks": [{"rank", "device",
  ///                 "operations": [{"number", "generation", "kind", "dtype", "count",
  ///                                 "common_count", "op", "root", "algorithm", "tag",
  ///                                 "collectives", "state", "start_us", "met_us", "end_us"}]}]}
  ///
  /// The number of a message is 0. The generation counts resets; numbers begin again after one. The
  /// count is the rank's own, the common one what all ranks must have alike. The state is started,
  /// completed or failed. Times are in microseconds since the group was made, which was at
  /// origin_us of the steady clock; null for a moment that has not come. steady_us and wall_us are
  /// the moment of writing by both clocks. The offset leads to process 0's steady clock
  /// (World::clock_offset; null: not known), the run is World::run (null: there is no world), and
  /// the group's name is the same in all its processes. Thread-safe.
  std::string flight_record() const;

  /// Makes the group fail: every rank that waits gets CommAborted. The first reason stays.
  void abort(const std::string& reason) noexcept;
  /// Makes the group usable again after an error. Call it on one rank, while no rank is in a call
  /// or waits for a handle. Operations that were under way have failed.
  void reset();

 private:
  Handle launch(std::vector<Collective> collectives);
  [[noreturn]] void refuse(const InvalidArgument& error);

  std::shared_ptr<Meeting> meeting_;
  int rank_;
};

}  // namespace tandem::comm
