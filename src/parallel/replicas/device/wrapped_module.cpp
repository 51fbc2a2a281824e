// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/device/wrapped_module.hpp"

#include <utility>

#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kWrapAgain = "; destroy this DataParallel and wrap the module again";

/// By place, whether it trains, and whether it has a gradient all the same.
std::vector<bool> training_places(const optim::Arena& parameters) {
  std::vector<bool> places;
  for (const std::size_t p : parameters.layout().place_indices()) {
    const Tensor x = parameters.tensor(p);
    places.push_back(x.requires_grad());
    places.push_back(!x.requires_grad() && autograd::stored_gradient(x).defined());
  }
  return places;
}

void check_all_seen(const optim::Arena& arena, const std::vector<bool>& seen) {
  for (std::size_t p = 0; p < seen.size(); ++p) {
    TANDEM_CHECK(seen[p],
                 "DataParallel: '",
                 arena.layout().places()[p].name,
                 "' was removed after wrapping",
                 kWrapAgain);
  }
}

}  // namespace

WrappedModule::WrappedModule(Device device, ReplicaSources replicas, const char* place)
    : replicas_(std::move(replicas)) {
  original().visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind) {
    TANDEM_CHECK(x.device() == device,
                 "DataParallel: '",
                 name,
                 "' is on ",
                 x.device(),
                 ", but ",
                 place,
                 " is ",
                 device,
                 "; call module.to(...) first");
  });
  original().check_unwrapped();
  for (const auto& replica : replicas_)
    replica->mark_wrapped(token_);
}

WrappedModule::WrappedModule(const std::vector<nn::Module*>& modules, Device device)
    : WrappedModule(device, sources_of(modules)) {}

void WrappedModule::claim(optim::Arena& arena) const {
  arena.claim(token_);
}

void WrappedModule::note_training(const optim::Arena& parameters) {
  trains_ = training_places(parameters);
}

bool WrappedModule::training_changed(const optim::Arena& parameters) const {
  return training_places(parameters) != trains_;
}

void WrappedModule::check_tensors(const optim::Arena& parameters,
                                  const optim::Arena& buffers) const {
  std::vector<bool> seen_parameters(parameters.layout().places().size());
  std::vector<bool> seen_buffers(buffers.layout().places().size());
  original().visit_tensors([&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    const bool is_parameter = kind == nn::TensorKind::parameter;
    const auto& arena = is_parameter ? parameters : buffers;
    const auto place = arena.place_of(x);
    TANDEM_CHECK(place.has_value(),
                 "DataParallel: '",
                 name,
                 "' was added, resized or moved after wrapping",
                 kWrapAgain);
    (is_parameter ? seen_parameters : seen_buffers)[*place] = true;
  });
  check_all_seen(parameters, seen_parameters);
  check_all_seen(buffers, seen_buffers);
}

void WrappedModule::follow() const {
  for (std::size_t r = 1; r < replicas_.size(); ++r)
    replicas_[r]->follow(original());
}

}  // namespace tandem::parallel
