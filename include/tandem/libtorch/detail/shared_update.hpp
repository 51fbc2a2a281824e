// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tandem/libtorch/detail/optimizer_view.hpp"
#include "tandem/libtorch/detail/torch_replicas.hpp"

namespace tandem::libtorch::detail {

/// The update that stands in for an optimizer of PyTorch: the same rule as one of tandem's
/// optimizers, over the parameters of a wrapper. Each function is given the user's optimizer.
class SharedUpdate {
 public:
  SharedUpdate();
  ~SharedUpdate();
  SharedUpdate(const SharedUpdate&) = delete;
  SharedUpdate& operator=(const SharedUpdate&) = delete;

  /// The update for the replicas, which takes over the state that the user's optimizer has so far,
  /// and its present options.
  ///
  /// @throws InvalidArgument  a parameter is not the wrapped module's, or an option is set that
  ///                          tandem's optimizer lacks.
  optim::Optimizer& attach(const std::shared_ptr<TorchReplicas>& replicas, OptimizerView& user);
  /// Whether there is an update, whose wrapper still lives. If that has ended, the state goes back
  /// to the user's optimizer.
  bool is_attached(OptimizerView& user);
  /// Updates with the gradients that the parameters have.
  void step(OptimizerView& user);
  /// Copies the state to the user's optimizer. Does nothing if there is no update.
  void store(OptimizerView& user) const;
  /// The reverse.
  void restore(OptimizerView& user);

 private:
  struct Attached;

  std::unique_ptr<Attached> attached_;
};

}  // namespace tandem::libtorch::detail
