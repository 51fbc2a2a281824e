// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tandem/comm/collective.hpp"
#include "tandem/comm/handle.hpp"
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
///
/// @throws InvalidArgument  a tensor is undefined, strided, of another device, or of a dtype that
///                          the reduction does not take (below).
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

  /// The reduction of all `x` in the root's; the others keep theirs.
  ///
  /// @cost  x.nbytes() from each other device to the root's.
  void reduce(const Tensor& x, Reduction reduction, int root) {
    start_reduce(x, reduction, root).wait();
  }

  /// The reduction of all `x` on every rank.
  ///
  /// @cost  rank r reduces the r-th even share of the elements: it gets that share of each other
  ///        rank, and sends the result to each; 2 (N-1) x.nbytes() in all.
  void all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum) {
    start_all_reduce(x, reduction).wait();
  }

  /// All `part`s one after the other, by rank, in the root's `whole`.
  ///
  /// @param part   any count, also zero; the counts add up to the root's whole.
  /// @param whole  undefined on the other ranks.
  /// @cost  part.nbytes() from each other device to the root's.
  void gather(const Tensor& part, const Tensor& whole, int root);

  /// The root's `whole` cut into the `part`s by rank: the reverse of gather.
  ///
  /// @cost  part.nbytes() from the root to each other device.
  void scatter(const Tensor& whole, const Tensor& part, int root);

  /// All `part`s one after the other, by rank, in every rank's `whole`.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  part.nbytes() from each device to each other.
  void all_gather(const Tensor& part, const Tensor& whole);

  /// The reduction of all `whole`, cut into the `part`s by rank.
  ///
  /// @param part  may be this rank's place in `whole`.
  /// @cost  for each rank its part.nbytes() from each other device.
  void reduce_scatter(const Tensor& whole, const Tensor& part, Reduction reduction = ReduceOp::sum);

  /// Returns when every rank has come.
  void barrier() { start({}).wait(); }

  /// Asynchronous: as above, but returns without waiting for the others.
  ///
  /// The last rank to come, and each that waits, does the work. Any number may be under way; the
  /// tensors are left alone until their handle has been waited for.
  [[nodiscard]] Handle start_broadcast(const Tensor& x, int root);
  [[nodiscard]] Handle start_reduce(const Tensor& x, Reduction reduction, int root);
  [[nodiscard]] Handle start_all_reduce(const Tensor& x, Reduction reduction = ReduceOp::sum);

  /// Checks this rank's part and starts it: what the calls above come to.
  [[nodiscard]] Handle start(Collective collective);

  /// Frees every rank that waits, with CommAborted; the first reason stays.
  virtual void abort(const std::string& reason) noexcept = 0;
  /// Makes the group usable again after an error. Called for one rank, when no rank is in a call
  /// and no handle is waited for; what was under way has failed.
  virtual void reset() = 0;

 protected:
  /// Starts a collective whose arguments are in order.
  virtual Handle launch(Collective collective) = 0;
};

}  // namespace tandem::comm
