// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "tandem/parallel/mixed_precision.hpp"
#include "tandem/runtime/context.hpp"

#include "parallel/reduce/bucket_reducer.hpp"

namespace tandem::parallel {

/// The parameters of a rank's module, bound to an arena, with the reducer of their gradients: the
/// rank has all of them (WholeParameters), or a share of each unit (RankUnits).
///
/// To be used on the rank's thread. What gathers, sends or reduces is collective.
class RankParameters {
 public:
  virtual ~RankParameters() = default;

  /// What errors call the wrapper.
  virtual const char* wrapper() const noexcept = 0;
  /// The types in which the module computes.
  virtual MixedPrecisionPolicy precision() const = 0;
  /// @throws InvalidArgument  the parameters are no longer those that are bound, and must be.
  virtual void check_unchanged() const = 0;
  /// Gives the ranks rank `root`'s values, where each has values of its own.
  virtual void send(int root) const = 0;
  /// Gathers all values, which stay until `close`. @throws OutOfMemory  nothing has changed.
  virtual void open() = 0;
  enum class Changes : std::uint8_t { written_back, dropped };
  virtual void close(Changes changes) = 0;

  /// A forward begins, whose context this completes.
  virtual void begin_forward(Context& c) const = 0;
  virtual void end_forward() const = 0;
  /// The order in which this rank has used them, for comparison with the other ranks.
  virtual std::int64_t order_digest() const = 0;
  /// The ranks have used them in different orders.
  virtual void forget_order() const = 0;

  /// Whom the gradients are reduced with.
  virtual BucketReducer::Groups groups() const noexcept = 0;
  /// What reads gradients otherwise than by their tensors calls `complete` first.
  virtual void set_completion(std::function<void()> complete) = 0;
  /// Whether a backward that fails is given up, and leaves the gradients as they were before it. If
  /// not, what it has made of them stays.
  virtual bool gives_up_failed_backwards() const noexcept = 0;
  /// The gradients that follow are those of a new backward.
  virtual void begin_backward() const = 0;
  /// That backward makes its first gradient. Those that parameters have by now are added to.
  virtual void note_earlier_gradients() = 0;
  /// That backward has been reduced on all ranks: its gradients are added to earlier ones.
  virtual void end_reduction() const = 0;
  /// That backward is given up: gradients are those that parameters had before it.
  virtual void discard_backward() = 0;
};

}  // namespace tandem::parallel
