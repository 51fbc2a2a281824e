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

/// Gradients of an op's inputs, in order; undefined where there is none.
using Gradients = std::vector<Tensor>;

/// A recorded op: what backward runs.
struct Node;
/// A part of a forward that backward runs again (see checkpoint.hpp).
class Checkpoint;
/// A saved tensor of such a part.
struct SavedSlot;

/// No op of this scope is recorded (torch.no_grad).
class NoGrad {
 public:
  NoGrad();

 private:
  ContextScope scope_;
};

/// Ops of this scope are recorded again (torch.enable_grad).
class EnableGrad {
 public:
  EnableGrad();

 private:
  ContextScope scope_;
};

/// A tensor kept for backward: noticed if it was changed in place since.
///
/// Inputs of an op are kept by `Saved(x)`. Keep an output `y` by naming it as the last argument of
/// the formula (see record), never by capture: it would hold itself for ever. In a checkpoint the
/// tensor is not kept, but made again when it is asked for.
class Saved {
 public:
  Saved() = default;
  explicit Saved(const Tensor& x);
  /// @throws InvalidArgument  the tensor was changed in place after it was saved.
  const Tensor& get() const;

 private:
  Tensor tensor_;
  std::uint64_t version_ = 0;
  std::shared_ptr<SavedSlot> slot_;  // in place of the tensor, in a checkpoint
};

/// dy -> gradients of the inputs, in differentiable ops.
using Formula = std::function<Gradients(const Tensor& dy)>;
/// (dy, y) -> gradients of the inputs, where the formula needs the output.
using OutputFormula = std::function<Gradients(const Tensor& dy, const Tensor& y)>;
/// Several outputs: dys -> gradients; a dy may be undefined.
using MultiFormula = std::function<Gradients(const std::vector<Tensor>& dys)>;

/// Some input is on the tape and grad mode is on: `record` would record.
bool should_record(const std::vector<Tensor>& inputs);

/// Puts `y` on the tape as made from `inputs`; does nothing where should_record() is false.
///
/// @param name     of the op, for messages; a string literal.
/// @param inputs   tensors whose gradients the formula returns, in this order.
/// @param formula  runs on the device of `inputs[0]`, in the context of the forward call.
/// @param fused    may stand in for the formula where no graph of the gradient is asked for.
/// @return `y`, for chaining.
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

struct BackwardOptions {
  bool retain_graph = false;  ///< the tape stays for another backward
  bool create_graph = false;  ///< gradients are on the tape themselves; implies retain_graph
};

/// Accumulates the gradients of `roots` into the grad() of every leaf they depend on.
///
/// @param gradients  one per root; undefined for a scalar root (then one).
/// @throws InvalidArgument  a root is not on the tape, or the tape was released by an earlier
/// backward.
void backward(const std::vector<Tensor>& roots,
              const std::vector<Tensor>& gradients = {},
              BackwardOptions options = {});

/// The gradients of `roots` with respect to `inputs`, which keep their grad()
/// (torch.autograd.grad).
///
/// @return one per input; undefined where a root does not depend on it.
std::vector<Tensor> grad(const std::vector<Tensor>& roots,
                         const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& gradients = {},
                         BackwardOptions options = {});

/// Called with a tensor's gradient when it is complete; a defined result replaces it.
///
/// Of a wrapped module's parameter it sees the sum over the replicas, once in a backward.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
/// @return an id for remove_hook. @throws InvalidArgument  `x` does not require grad.
int register_hook(const Tensor& x, GradientHook hook);
void remove_hook(const Tensor& x, int id);

/// Called after a leaf's grad() has been accumulated in a backward, of a wrapped module's parameter
/// once the replicas' parts have been added up; runs on the leaf's device's thread.
using AccumulateHook = std::function<void(const Tensor& leaf)>;
void set_accumulate_hook(const Tensor& leaf, AccumulateHook hook);

/// Binds the gradient of `leaf` to fixed storage: backward accumulates into `storage`, and grad()
/// is undefined until it did (or until `storage` is marked as filled by set_grad).
///
/// @param storage  same shape, dtype, device; undefined takes the binding off.
void bind_gradient(const Tensor& leaf, const Tensor& storage);

}  // namespace tandem::autograd
