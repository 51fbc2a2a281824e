// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "tandem/runtime/context.hpp"
#include "tandem/tensor/tensor.hpp"

namespace tandem::libtorch {

/// Gives the gradients that PyTorch makes for a replica's parameters to the tensors of tandem that
/// have the parameters' memory, as tandem's own backward would.
///
/// A backward of PyTorch calls it on the device's thread of PyTorch's engine, one gradient after
/// the other; begin() and end() are called by the thread that waits for that backward.
class GradientSink {
 public:
  /// @param parameter  the tensor of tandem.
  /// @param copies     distinct tensors of PyTorch that are this parameter (tied weights).
  /// @return  the parameter's number, for take().
  std::size_t add(Tensor parameter, int copies);
  /// A backward begins, in the calling thread's context.
  void begin() { context_ = share_context(); }
  /// Takes the gradient of one of a parameter's tensors. Tied ones are added up first.
  ///
  /// @throws  what the reduction throws, which the gradient may start.
  void take(std::size_t parameter, at::Tensor gradient);
  /// The backward has ended: takes what tied tensors without a gradient have held up.
  void end();

 private:
  struct Entry {
    Tensor parameter;
    int copies = 1;
    int taken = 0;
    at::Tensor held = {};
  };
  void pass_on(Entry& entry, const at::Tensor& gradient);

  std::vector<Entry> entries_;
  std::shared_ptr<const Context> context_;
};

/// Hands every gradient that a backward accumulates in `leaf` to the sink, which may not live any
/// more. `leaf.grad()` is undefined again afterwards.
void watch_gradient(const at::Tensor& leaf,
                    std::weak_ptr<GradientSink> sink,
                    std::size_t parameter);

}  // namespace tandem::libtorch
