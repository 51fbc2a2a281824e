// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/replicas/wrapped_module.hpp"

#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/nn/replicate.hpp"

#include "parallel/replicas/check_unwrapped.hpp"

namespace tandem::parallel {
namespace {

constexpr const char* kWrapAgain = "; destroy this DataParallel and wrap the module again";

constexpr WrapperWords kWords{
    "DataParallel",
    "use that DataParallel, or destroy it and the results of its calls first",
    "Wrap a clone (nn::clone), or destroy that DataParallel and the results of its calls first"};

std::size_t place_count(const std::shared_ptr<optim::Arena>& arena) {
  return arena == nullptr ? 0 : arena->layout().places().size();
}

std::vector<bool> training_places(const std::shared_ptr<optim::Arena>& parameters) {
  std::vector<bool> places;
  for (std::size_t p = 0; p < place_count(parameters); ++p)
    places.push_back(parameters->tensor(p).requires_grad());
  return places;
}

void check_all_seen(const std::shared_ptr<optim::Arena>& arena, const std::vector<bool>& seen) {
  for (std::size_t p = 0; p < seen.size(); ++p) {
    TANDEM_CHECK(seen[p],
                 "DataParallel: '",
                 arena->layout().places()[p].name,
                 "' was removed after wrapping",
                 kWrapAgain);
  }
}

}  // namespace

WrappedModule::WrappedModule(std::vector<nn::Module*> modules, Device device)
    : modules_(std::move(modules)) {
  nn::visit_tensors(original(), [&](const std::string& name, Tensor& x, nn::TensorKind) {
    TANDEM_CHECK(x.device() == device,
                 "DataParallel: '",
                 name,
                 "' is on ",
                 x.device(),
                 ", but the first device is ",
                 device,
                 "; call module.to(...) first");
  });
  check_unwrapped(original(), kWords);
  for (nn::Module* module : modules_) {
    for (nn::Module* part : module->modules())
      nn::detail::Wrapping::mark(*part, token_);
  }
}

void WrappedModule::claim(const std::shared_ptr<optim::Arena>& arena) const {
  if (arena != nullptr) arena->claim(token_);
}

void WrappedModule::note_training(const std::shared_ptr<optim::Arena>& parameters) {
  trains_ = training_places(parameters);
}

bool WrappedModule::training_changed(const std::shared_ptr<optim::Arena>& parameters) const {
  return training_places(parameters) != trains_;
}

void WrappedModule::check_tensors(const std::shared_ptr<optim::Arena>& parameters,
                                  const std::shared_ptr<optim::Arena>& buffers) const {
  std::vector<bool> seen_parameters(place_count(parameters)), seen_buffers(place_count(buffers));
  nn::visit_tensors(original(), [&](const std::string& name, Tensor& x, nn::TensorKind kind) {
    const bool is_parameter = kind == nn::TensorKind::parameter;
    const auto& arena = is_parameter ? parameters : buffers;
    const auto place = arena == nullptr ? std::nullopt : arena->place_of(x);
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
  const std::vector<nn::Module*> own = original().modules();
  for (std::size_t r = 1; r < modules_.size(); ++r) {
    const std::vector<nn::Module*> copy = modules_[r]->modules();
    TANDEM_CHECK(copy.size() == own.size(),
                 "DataParallel: the module had ",
                 copy.size(),
                 " parts when it was wrapped, but now has ",
                 own.size(),
                 kWrapAgain);
    for (std::size_t i = 0; i < own.size(); ++i)
      nn::detail::Wrapping::follow(*copy[i], *own[i]);
  }
}

}  // namespace tandem::parallel
