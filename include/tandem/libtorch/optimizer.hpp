// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <typeinfo>

#include "tandem/libtorch/detail/shared_update.hpp"

namespace torch::serialize {
class InputArchive;
class OutputArchive;
}  // namespace torch::serialize

namespace tandem::libtorch {

/// An optimizer of PyTorch whose update all devices of a DataParallel share in modes sharded and
/// ddp. Write it in place of `T`; it is a `T`, with T's constructors, options and checkpoints:
///
///     Optimizer<torch::optim::AdamW> optimizer(net->parameters(), 1e-3);
///     dp.step(batch, loss, optimizer);
///
/// The update is tandem's kernel for the same rule, and its state lies with the devices that
/// update. Options are read at each step, so schedulers and edits of param_groups() count. Before
/// its first step with a DataParallel, and after that wrapper has ended, it is a plain `T`.
///
/// @tparam T  SGD, Adam, AdamW, RMSprop or Adagrad of torch::optim: rules that treat each element
///            alike.
template <class T>
class Optimizer final : public T {
 public:
  using T::T;

  /// Outside of dp.step: updates with the gradients that the parameters have.
  ///
  /// @throws ReplicaError, Timeout  a device failed.
  typename T::LossClosure::result_type step(typename T::LossClosure closure = nullptr) override {
    const auto view = detail::view_of(*this, typeid(T));
    if (!update_.is_attached(*view)) return T::step(closure);
    typename T::LossClosure::result_type loss;
    if (closure != nullptr) loss = closure();
    update_.step(*view);
    return loss;
  }
  void save(torch::serialize::OutputArchive& archive) const override {
    // T's own form keeps the state in the optimizer, and this brings it there.
    update_.store(*detail::view_of(const_cast<Optimizer&>(*this), typeid(T)));
    T::save(archive);
  }
  void load(torch::serialize::InputArchive& archive) override {
    T::load(archive);
    update_.restore(*detail::view_of(*this, typeid(T)));
  }
  /// The optimizer that a step of `replicas` runs. Called by DataParallel.
  optim::Optimizer& shared_by(const std::shared_ptr<detail::TorchReplicas>& replicas) {
    return update_.attach(replicas, *detail::view_of(*this, typeid(T)));
  }

 private:
  detail::SharedUpdate update_;
};

}  // namespace tandem::libtorch
