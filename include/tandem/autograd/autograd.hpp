// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::autograd {

/// The gradients of an op's inputs, in order; undefined for an input that has none.
using Gradients = std::vector<Tensor>;

/// A recorded op, which backward runs.
struct Node;
/// A part of a forward that backward runs again (see checkpoint.hpp).
class CheckpointState;
/// A tensor that was saved in such a part.
struct SavedSlot;

/// A scope whose ops are not recorded (torch.no_grad).
class NoGrad {
 public:
  NoGrad();

 private:
  ContextScope scope_;
};

/// A scope whose ops are recorded, also within a NoGrad (torch.enable_grad).
class EnableGrad {
 public:
  EnableGrad();

 private:
  ContextScope scope_;
};

/// A tensor kept for backward. get() notices if it was changed in place since.
///
/// Keep an op's input `x` as `Saved(x)`. To use an output `y`, make it the last argument of the
/// formula (see record). Never capture it: it would keep itself alive for ever. In a checkpoint the
/// tensor is not kept but recomputed when it is asked for, unless it is a leaf that requires grad
/// or grad mode is off.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& x);
  /// @throws InvalidArgument  the tensor was changed in place after it was saved.
  const Tensor& get() const;

 private:
  Tensor tensor_;
  std::uint64_t version_ = 0;
  std::shared_ptr<SavedSlot> slot_;  // takes the tensor's place in a checkpoint
};

/// dy -> gradients of the inputs, computed by differentiable ops.
using Formula = std::function<Gradients(const Tensor& dy)>;
/// (dy, y) -> gradients of the inputs, for a formula that needs the output.
using OutputFormula = std::function<Gradients(const Tensor& dy, const Tensor& y)>;
/// dys -> gradients of the inputs, for several outputs. A dy may be undefined.
using MultiFormula = std::function<Gradients(const std::vector<Tensor>& dys)>;

/// Whether `record` would record: some input is on the tape, and grad mode is on.
bool should_record(const std::vector<Tensor>& inputs);

/// Puts `y` on the tape as made from `inputs`. Does nothing if should_record() is false.
///
/// @param name     the op's name, for messages; a string literal.
/// @param inputs   the tensors whose gradients the formula returns, in this order.
/// @param formula  runs on the device of `inputs[0]`, in the context of the forward call.
/// @param fused    runs in place of the formula if create_graph is off; need not be differentiable.
/// @return  `y`, for chaining.
Tensor record(const char* name,
              Tensor y,
              std::vector<Tensor> inputs,
              Formula formula,
              Formula fused = nullptr);
Tensor record(const char* name,
              Tensor y,
              std::vector<Tensor> inputs,
              OutputFormula formula,
              OutputFormula fused = nullptr);
std::vector<Tensor> record(const char* name,
                           std::vector<Tensor> ys,
                           std::vector<Tensor> inputs,
                           MultiFormula formula,
                           MultiFormula fused = nullptr);

/// In a formula: whether the gradient of input `x` is asked for. If not, the formula may return an
/// undefined tensor in its place. Outside a backward: whether `x` requires grad.
///
/// autograd::grad asks only for gradients that lead to its inputs.
bool wants(const Tensor& x);

/// In a formula: where the gradient of input `x` may be made, if the leaf has fixed storage for it
/// (see bind_gradient) and nothing else is added to it. Undefined: nowhere in particular. A formula
/// that writes there returns that tensor; the gradient is then not copied.
Tensor gradient_place(const Tensor& x);

struct BackwardOptions {
  bool retain_graph = false;  ///< keep the tape for another backward
  bool create_graph = false;  ///< put the gradients on the tape too; implies retain_graph
};

/// Accumulates the gradients of `roots` into the grad() of every leaf that they depend on.
///
/// @param gradients  one per root; may be undefined for a root of one element (then 1).
/// @throws InvalidArgument  a root is not on the tape, a gradient is missing or does not fit its
///                          root, or an earlier backward released the tape.
void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients = {},
              BackwardOptions options = {});

/// Computes the gradients of `roots` with respect to `inputs` and leaves every grad() as it is
/// (torch.autograd.grad).
///
/// @return  one gradient per input, summed over the roots; undefined if no root depends on it.
/// @throws InvalidArgument  as for backward; or `inputs` is empty, or one does not require grad.
std::vector<Tensor> grad(const std::vector<Tensor>& roots,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients = {},
                         BackwardOptions options = {});

/// Called with a tensor's gradient when it is complete. A defined result replaces the gradient.
///
/// For a parameter of a wrapped module, the hook is called once per backward, with the sum over the
/// replicas.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// @return  an id for remove_hook.
/// @throws InvalidArgument  `x` does not require grad.
int register_hook(const Tensor& x, GradientHook hook);
void remove_hook(const Tensor& x, int id);

/// Called after a leaf's grad() has been accumulated in a backward. For a parameter of a wrapped
/// module, it is called once the replicas' parts have been added up. It runs on the thread that
/// adds: the caller's if backward ran on one device, else usually that of the leaf's device.
using AccumulateHook = std::function<void(const Tensor& leaf)>;
void set_accumulate_hook(const Tensor& leaf, AccumulateHook hook);

/// Binds the gradient of `leaf` to fixed storage, into which backward accumulates. grad() stays
/// undefined until backward has done so or set_grad marks `storage` as filled. A gradient that the
/// leaf already has is copied to `storage`.
///
/// @param storage  has the leaf's shape, dtype and device; undefined removes the binding.
/// @throws InvalidArgument  `leaf` is not a leaf, or `storage` does not match it.
void bind_gradient(const Tensor& leaf, const Tensor& storage);

}  // namespace tandem::autograd
