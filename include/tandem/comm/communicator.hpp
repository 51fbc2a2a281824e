// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tandem/tensor/tensor.hpp"

namespace tandem::comm {

/// How values of the ranks become one.
enum class ReduceOp : std::uint8_t { sum, avg, min, max };

/// "sum", "avg", "min", "max".
const char* name(ReduceOp op) noexcept;

/// One rank's part in a collective: what a backend carries out.
struct Collective {
  enum class Kind : std::uint8_t {
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    barrier,
  };
  Kind kind = Kind::barrier;
  Tensor input = {};   ///< what this rank gives; undefined where it gives nothing
  Tensor output = {};  ///< what this rank gets; undefined where it gets nothing
  ReduceOp op = ReduceOp::sum;
  int root = -1;  ///< -1 where the collective has none
};

/// "all_reduce".
const char* name(Collective::Kind kind) noexcept;

/// A collective that this rank has started.
///
/// Move-only; of the thread that uses the rank. Keeps the tensors until the end.
class Handle {
 public:
  /// What a backend keeps for a started collective; destroyed on the rank's thread.
  ///
  /// Its destructor leaves no other thread with the tensors: it waits for work under way, and fails
  /// the group where the collective has not begun.
  class Pending {
   public:
    virtual ~Pending() = default;
    virtual void wait() = 0;
    virtual bool done() const noexcept = 0;
  };

  /// Already done.
  Handle() = default;
  explicit Handle(std::unique_ptr<Pending> pending) noexcept : pending_(std::move(pending)) {}

  /// Takes part in the work that is left, and returns when the output is there; then does nothing.
  ///
  /// @throws Desync, CommAborted, Timeout  see Communicator.
  void wait();
  /// wait() would return at once.
  bool done() const noexcept { return pending_ == nullptr || pending_->done(); }

 private:
  std::unique_ptr<Pending> pending_;
};

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
///
/// @throws InvalidArgument  a tensor is undefined, strided, of another device, or of a dtype that
///                          the reduction does not take (avg: float types; sum: all but bool).
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
  void reduce(const Tensor& x, ReduceOp op, int root) { start_reduce(x, op, root).wait(); }

  /// The reduction of all `x` on every rank.
  ///
  /// @cost  rank r reduces the r-th even share of the elements: it gets that share of each other
  ///        rank, and sends the result to each; 2 (N-1) x.nbytes() in all.
  void all_reduce(const Tensor& x, ReduceOp op = ReduceOp::sum) { start_all_reduce(x, op).wait(); }

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
  void reduce_scatter(const Tensor& whole, const Tensor& part, ReduceOp op = ReduceOp::sum);

  /// Returns when every rank has come.
  void barrier() { start({}).wait(); }

  /// Asynchronous: as above, but returns without waiting for the others.
  ///
  /// The last rank to come, and each that waits, does the work. Any number may be under way; the
  /// tensors are left alone until their handle has been waited for.
  [[nodiscard]] Handle start_broadcast(const Tensor& x, int root);
  [[nodiscard]] Handle start_reduce(const Tensor& x, ReduceOp op, int root);
  [[nodiscard]] Handle start_all_reduce(const Tensor& x, ReduceOp op = ReduceOp::sum);

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
