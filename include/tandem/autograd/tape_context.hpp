// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "tandem/autograd/row_group.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::autograd {

class CheckpointState;  // autograd/checkpoint.hpp: a part of a forward that backward reruns
class OutsideTensors;   // src/autograd/outside_tensors.hpp: where a replica's tapes end
struct UnwantedInputs;  // src/autograd/node.hpp: inputs of an op whose gradients nobody asks for
struct GradientPlaces;  // src/autograd/node.hpp: where gradients of an op's inputs may be made
struct IntervalMark;    // src/autograd/interval_calls.hpp: a part of a forward that is told of

/// What autograd keeps in the context of a call (Context::tape).
struct TapeContext final : ContextExtension {
  std::shared_ptr<RowGroup> row_group;          ///< null outside a data-parallel call
  std::shared_ptr<CheckpointState> checkpoint;  ///< where ops save tensors; null: the tape
  /// The tensors from outside the replica, at which its tapes end; null: no replica.
  std::shared_ptr<OutsideTensors> outside;
  /// In the backward of an op; null: all gradients are asked for.
  std::shared_ptr<const UnwantedInputs> unwanted;
  std::shared_ptr<const GradientPlaces> places;  ///< in the backward of an op; null: none
  std::shared_ptr<const IntervalMark> interval;  ///< the innermost; null: none
};

/// What autograd keeps where a context has nothing: nulls.
const TapeContext& no_tape_context() noexcept;

/// What autograd keeps in a context.
inline const TapeContext& tape_context(const Context& c = context()) noexcept {
  return c.tape == nullptr ? no_tape_context() : static_cast<const TapeContext&>(*c.tape);
}

/// Gives a context a copy of what autograd keeps in it, changed by `change`.
///
/// `change_tape_context(c, [](TapeContext& t) { t.row_group = nullptr; });`
/// @cost  an allocation.
template <class F>
void change_tape_context(Context& c, F&& change) {
  auto next = std::make_shared<TapeContext>(tape_context(c));
  std::forward<F>(change)(*next);
  c.tape = std::move(next);
}

}  // namespace tandem::autograd
