// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/autograd/autograd.hpp"
#include "tandem/tensor/nest.hpp"

namespace tandem::autograd {

namespace detail {

/// An argument whose tensors are kept as backward's are: noticed if changed in place, and made
/// again where an outer checkpoint does so.
template <class T>
class KeptArgument {
 public:
  explicit KeptArgument(const T& value) : value_(value) {
    if constexpr (TensorNest<T>) {
      for_each_leaf(value_, [this](Tensor& x) { saved_.emplace_back(std::exchange(x, {})); });
    }
  }
  T get() const {
    T value = value_;
    if constexpr (TensorNest<T>) {
      auto saved = saved_.begin();
      for_each_leaf(value, [&saved](Tensor& x) { x = (saved++)->get(); });
    }
    return value;
  }

 private:
  T value_;
  std::vector<Saved> saved_;
};

/// The scope of a checkpoint's first run. Ops in it keep no tensors for backward; the first that
/// backward asks for runs `again`.
class CheckpointRun {
 public:
  explicit CheckpointRun(std::function<void()> again);
  /// The run ended well. @throws InvalidArgument  it drew random numbers that cannot be drawn
  /// again.
  void finish() const;

 private:
  std::shared_ptr<Checkpoint> checkpoint_;
  ContextScope scope_;
};

}  // namespace detail

/// Calls `f(inputs...)` without keeping what its backward needs, and computes it again there:
/// activations take less memory, for a second forward (torch.utils.checkpoint,
/// use_reentrant=False).
///
///     Tensor forward(Tensor x) {
///       for (Block& block : blocks) x = autograd::checkpoint(block, x);
///       return head(x);
///     }
///
/// Gradients are the same bit for bit: dropout draws the same masks, batch norm gives the same
/// values and updates its statistics once. Parameters and other tensors that `f` captures get their
/// gradients, hooks run once, and checkpoints may be nested. The second run calls the forward hooks
/// of modules again; a module that changes other state of its own asks context().recomputes.
/// Outside of any module's call `f` calls one module at most, and draws no random numbers itself:
/// draw them outside and pass them in.
///
/// @param f       a module or another function object; it is copied (a module's copy shares its
///                tensors).
/// @param inputs  nests keep their tensors for the second run; others are copied.
/// @throws InvalidArgument  at once: numbers that cannot be drawn again. In backward: `f` did
///                          something else the second time, or an input was changed in place.
/// @cost  a second forward.
template <class F, class... Inputs>
auto checkpoint(F&& f, const Inputs&... inputs) {
  using Function = std::decay_t<F>;
  if (!context().grad_enabled) return std::invoke(f, inputs...);
  const auto function = std::make_shared<Function>(f);
  const auto kept = std::make_shared<std::tuple<detail::KeptArgument<Inputs>...>>(
      detail::KeptArgument<Inputs>(inputs)...);
  const detail::CheckpointRun run([function, kept] {
    std::apply([&](const auto&... arguments) { std::invoke(*function, arguments.get()...); },
               *kept);
  });
  auto result = std::invoke(f, inputs...);
  run.finish();
  return result;
}

}  // namespace tandem::autograd
