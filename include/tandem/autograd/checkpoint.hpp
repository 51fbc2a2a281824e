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

/// An argument whose tensors are kept as Saved: a change in place is noticed, and within an outer
/// checkpoint they are recomputed.
template <class T>
class KeptArgument {
 public:
  explicit KeptArgument(const T& value) : value_(value) {
    if constexpr (TensorNest<T>) {
      for_each_leaf<Tensor>(value_,
                            [this](Tensor& x) { saved_.emplace_back(std::exchange(x, {})); });
    }
  }
  T get() const {
    T value = value_;
    if constexpr (TensorNest<T>) {
      auto saved = saved_.begin();
      for_each_leaf<Tensor>(value, [&saved](Tensor& x) { x = (saved++)->get(); });
    }
    return value;
  }

 private:
  T value_;
  std::vector<Saved> saved_;
};

/// The scope of a checkpoint's first run. Ops in it keep no tensors for backward. When backward
/// first asks for one of them, `again` runs.
class CheckpointRun {
 public:
  explicit CheckpointRun(std::function<void()> again);
  /// Notes that the run succeeded.
  ///
  /// @throws InvalidArgument  the run drew random numbers that cannot be drawn again.
  void finish() const;

 private:
  std::shared_ptr<CheckpointState> checkpoint_;
  ContextScope scope_;
};

}  // namespace detail

/// Calls `f(inputs...)` without keeping the tensors that its backward needs; backward recomputes
/// them. Activations take less memory, at the cost of a second forward (torch.utils.checkpoint with
/// use_reentrant=False).
///
///     Tensor forward(Tensor x) {
///       for (Block& block : blocks) x = autograd::checkpoint(block, x);
///       return head(x);
///     }
///
/// Gradients are the same bit for bit: dropout draws the same masks, and batch norm gives the same
/// values and updates its statistics once. Parameters and other tensors that `f` captures get their
/// gradients, gradient hooks run once, and checkpoints may be nested. The second run calls the
/// forward hooks of modules again. A module that changes other state of its own should check
/// context().recomputes. Outside any module's call, `f` may call at most one module and must not
/// draw random numbers itself: draw them outside and pass them in.
///
/// @param f       a module or another function object. It is copied; the copy of a module shares
///                its tensors.
/// @param inputs  the tensors of nests are kept for the second run; other arguments are copied.
/// @throws InvalidArgument  at once if `f` drew numbers that cannot be drawn again. In backward if
///                          `f` did something else in the second run, or an input was changed in
///                          place.
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
