// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

#include "libtorch/modules/gradient_group.hpp"

namespace torch::autograd {
struct Node;
}

namespace tandem::libtorch {

/// Gives the gradients that PyTorch makes for a replica's parameters to the tensors of tandem that
/// have the parameters' memory, as tandem's own backward would.
///
/// A backward of PyTorch calls it on the device's thread of PyTorch's engine, one gradient after
/// the other; begin() and end() are called by the thread that waits for that backward.
class GradientSink {
 public:
  // A node may begin a backward of its own, as a re-entrant checkpoint does, and so may a forward.
  // Each gives the parameters that it reaches a gradient, and nobody knows whether more will come.
  // What is not of the step's backward itself therefore waits for its end, and so does all that
  // comes to the same parameter.

  /// @param parameter  the tensor of tandem.
  /// @param copies     distinct tensors of PyTorch that are this parameter (tied weights).
  /// @return  the parameter's number, for take().
  std::size_t add(std::string name, Tensor parameter, int copies);
  /// A forward begins: nothing waits.
  void clear();
  /// A backward begins, in the calling thread's context. @param root  of its graph
  void begin(const torch::autograd::Node* root);
  /// Takes the gradient of one of a parameter's tensors. Tied ones are added up first.
  ///
  /// @throws  what the reduction throws, which the gradient may start.
  /// @throws InvalidArgument  the parameter's gradient may be reduced by now.
  void take(std::size_t parameter, at::Tensor gradient);
  /// The backward has ended: takes what has waited.
  void end();

 private:
  /// What has come in a backward.
  struct Arrived {
    int taken = 0;
    bool waits = false;  // for the end
    at::Tensor held = {};
  };
  struct Entry {
    std::string name;
    Tensor parameter;
    int copies = 1;
    Arrived arrived = {};
  };
  void pass_on(Entry& entry, const at::Tensor& gradient);

  std::vector<Entry> entries_;
  GradientGroup group_;                     // of those that wait for their copy alone
  std::shared_ptr<const Context> context_;  // null: no backward is under way
  bool all_wait_ = false;
};

/// Hands every gradient that a backward accumulates in `leaf` to the sink, which may not live any
/// more. `leaf.grad()` is undefined again afterwards.
void watch_gradient(const at::Tensor& leaf,
                    std::weak_ptr<GradientSink> sink,
                    std::size_t parameter);

}  // namespace tandem::libtorch
