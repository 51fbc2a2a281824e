// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/module_move.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/optim/arena.hpp"

namespace tandem::parallel {

ModuleMove::ModuleMove(ReplicaSource& module, Device to) {
  module.visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind) {
    if (x.device() == to) return;
    TANDEM_CHECK(!autograd::stored_gradient(x).defined(),
                 "init_on: '",
                 name,
                 "' is to move from ",
                 x.device(),
                 " to ",
                 to,
                 ", but it has a gradient; call zero_grad() first");
    const TensorImpl& impl = x.impl();
    places_.push_back({x, impl.buffer, impl.offset, impl.strides, impl.dtype, impl.home});
  });
}

ModuleMove::~ModuleMove() {
  for (const Place& place : places_) {
    const bool trains = place.tensor.requires_grad();
    if (trains) autograd::bind_gradient(place.tensor, {});
    TensorImpl& impl = place.tensor.impl();
    impl.buffer = place.buffer;
    impl.offset = place.offset;
    impl.strides = place.strides;
    impl.dtype = place.dtype;
    impl.home = place.home;
    if (const auto arena = optim::Arena::of(place.tensor); arena != nullptr && trains)
      autograd::bind_gradient(place.tensor, arena->gradient(*arena->place_of(place.tensor)));
  }
}

}  // namespace tandem::parallel
