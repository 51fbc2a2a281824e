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

/// One rank of a group of devices that exchange tensors.
///
/// Collective: every rank of the group makes the same calls in the same order, each from its own
/// thread. A rank is used by one thread at a time; `abort` may come from any.
///
/// Tensors are dense in row-major order, on the rank's device, and written in place, off the tape.
/// Before data moves the ranks compare operation, dtype, count, reduction and root. Every wait ends
/// by the group's time-out, by the context's deadline, or by an abort; a collective that all ranks
/// have reached runs to its end. After any error the group refuses calls until `reset`.
///
/// Values are combined in rank order: the bits depend on nothing else, and are equal on all ranks.
/// avg and premul_sum are for float types, band, bor and bxor for integers and bool; sum is for all
/// but bool, min, max and product (of bool: "and") for all.
/// Algorithms other than "direct" have an order of their own, and round 16-bit types in each step;
/// their bits too are the same each time, and on all ranks.
///
/// Asynchronous: the calls named start_ return without waiting for the others. The last rank to
/// come, and each that waits, does the work. Any number may be under way; the tensors are left
/// alone until their handle has been waited for.
///
/// Of a group of one rank everything is done at once, in place where nothing is to be moved.
///
/// @throws InvalidArgument  a tensor is undefined, strided, of another device, or of a dtype that
///                          the reduction does not take.
/// @throws Desync       on every rank: the calls differ; the text names field and both values.
/// @throws CommAborted  another rank failed; the text has its reason.
/// @throws Timeout      a rank did not come; the text names it.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int size() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  virtual Device device() const noexcept = 0;

  /// The root's `x` on every rank.
  ///
  /// @cost  x.nbytes() from the root to each other device.
  void broadcast(const Tensor& x, int root) { start_broadcast(x, root).wait(); }
  [[nodiscard]] Handle start_broadcast(const Tensor& x, int root) {
    return start(Collective::broadcast(x, root));
  }

  /// The reduction of all `x` in the root's; the others keep theirs.
  ///
  /// @cost  x.nbytes() from each other device to the root's.
  void reduce(const Tensor& x, Reduction reduction, int root) {
    start_reduce(x, reduction, root).wait();
  }
  [[nodiscard]] Handle start_reduce(const Tensor& x, Reduction reduction, int root) {
    return start(Collective::reduce(x, reduction, root));
  }

  /// The reduction of all `x` on every rank.
  ///
  /// @cost  rank r reduces the r-th even share of the elements: it gets that share of each other
  ///        rank, and sends the result to each; 2 (N-1) x.nbytes() in all.
  void all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum) {
    start_all_reduce(x, reduction).wait();
  }
  [[nodiscard]] Handle start_all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum) {
    return start(Collective::all_reduce(x, reduction));
  }

  /// All `part`s one after the other, by rank, in the root's `whole`.
  ///
  /// @param part   any count, also zero; the counts add up to the root's whole.
  /// @param whole  not looked at on the other ranks.
  /// @cost  part.nbytes() from each other device to the root's.
  void gather(const Tensor& part, const Tensor& whole, int root) {
    start_gather(part, whole, root).wait();
  }
  [[nodiscard]] Handle start_gather(const Tensor& part, const Tensor& whole, int root) {
    return start(Collective::gather(part, whole, root));
  }

  /// The root's `whole` cut into the `part`s by rank: the reverse of gather.
  ///
  /// @param whole  not looked at on the other ranks.
  /// @cost  part.nbytes() from the root to each other device.
  void scatter(const Tensor& whole, const Tensor& part, int root) {
    start_scatter(whole, part, root).wait();
  }
  [[nodiscard]] Handle start_scatter(const Tensor& whole, const Tensor& part, int root) {
    return start(Collective::scatter(whole, part, root));
  }

  /// All `part`s one after the other, by rank, in every rank's `whole`.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  part.nbytes() from each device to each other.
  void all_gather(const Tensor& part, const Tensor& whole) { start_all_gather(part, whole).wait(); }
  [[nodiscard]] Handle start_all_gather(const Tensor& part, const Tensor& whole) {
    return start(Collective::all_gather(part, whole));
  }

  /// The reduction of all `whole`, cut into the `part`s by rank.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  for each rank its part.nbytes() from each other device.
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

  /// Of every rank's `input` the part for this rank, one after the other, by rank, in `output`.
  ///
  /// @param input   its parts for rank 0, 1, ...; shares no memory with `output`.
  /// @param input_counts   elements for each rank; none given: even parts.
  /// @param output_counts  elements from each rank, which sends as many.
  /// @cost  the part for rank s of rank r's input from device r to device s.
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

  /// Gives `x` to a rank that calls recv with this rank and tag; returns when it has it.
  ///
  /// Point to point: of two ranks alone, and outside the order of the collectives. Calls of the
  /// same two ranks and tag meet in their order. Of an exchange start one half before waiting for
  /// the other. A peer that does not come fails the group, as for collectives.
  /// @cost  x.nbytes() to the other device.
  void send(const Tensor& x, int to, int tag = 0) { start_send(x, to, tag).wait(); }
  [[nodiscard]] Handle start_send(const Tensor& x, int to, int tag = 0);

  /// Fills `x` with what rank `from` sends, or with what any rank sends first.
  ///
  /// @return  the rank that sent it.
  int recv(const Tensor& x, int from = any_source, int tag = 0) {
    Handle handle = start_recv(x, from, tag);
    handle.wait();
    return handle.source();
  }
  [[nodiscard]] Handle start_recv(const Tensor& x, int from = any_source, int tag = 0);

  /// Returns when every rank has come.
  void barrier() { start_barrier().wait(); }
  [[nodiscard]] Handle start_barrier() { return start(Collective()); }

  /// A barrier that waits for `timeout` and no longer.
  ///
  /// @throws Timeout  the text names all ranks that did not come.
  void monitored_barrier(std::chrono::milliseconds timeout) { start_barrier().wait_for(timeout); }

  /// Starts a collective: what the calls above come to.
  [[nodiscard]] Handle start(Collective collective);

  /// Starts several collectives as one: the ranks meet once, compare all of them, and have one
  /// handle.
  ///
  /// @param collectives  any kinds and dtypes, but no send or recv; none writes what another reads.
  /// @cost  the sum of theirs.
  [[nodiscard]] Handle start_coalesced(std::vector<Collective> collectives);
  void coalesced(std::vector<Collective> collectives) {
    start_coalesced(std::move(collectives)).wait();
  }

  /// Makes groups of those ranks that give the same color (MPI_Comm_split, PyTorch's new_group).
  ///
  /// Collective. A group's ranks are ordered by key, then by their rank here. Groups work side by
  /// side; when this one fails, so do they, but not the other way round.
  /// @param color  0 or more; -1: of no group.
  /// @return this rank of its group; null with color -1.
  /// @throws InvalidArgument  color is less than -1.
  std::unique_ptr<Communicator> split(int color, int key = 0);

  /// The last 1,024 operations of each rank of the group that this process has, as JSON.
  ///
  /// Thread-safe. {"failure": text or null, "ranks": [{"rank", "device", "operations": [{"number",
  /// "kind", "dtype", "count", "op", "root", "tag", "collectives", "state", "start_us", "met_us",
  /// "end_us"}]}]}: number 0 is a message; states are started, completed and failed; times are in
  /// microseconds after the group was made, null where they have not come.
  virtual std::string flight_record() const = 0;

  /// Frees every rank that waits, with CommAborted; the first reason stays.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Makes the group usable again after an error. Called for one rank, when no rank is in a call
  /// and no handle is waited for; what was under way has failed.
  virtual void reset() = 0;

 protected:
  /// Starts collectives whose arguments are in order, as one.
  virtual Handle launch(std::vector<Collective> collectives) = 0;
  /// As split, with a color that is in order.
  virtual std::unique_ptr<Communicator> join(int color, int key) = 0;

 private:
  Handle start_checked(std::vector<Collective> collectives);
  [[noreturn]] void refuse(const InvalidArgument& error);
};

}  // namespace tandem::comm
