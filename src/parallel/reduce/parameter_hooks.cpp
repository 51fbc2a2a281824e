// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/parameter_hooks.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"

#include "autograd/leaf_hooks.hpp"

namespace tandem::parallel {
namespace {

std::vector<std::size_t> hooked_places(const optim::Arena& arena) {
  std::vector<std::size_t> places;
  for (const std::size_t p : arena.layout().place_indices()) {
    const Tensor x = arena.tensor(p);
    if (x.defined() && x.requires_grad() && autograd::has_hooks(x)) places.push_back(p);
  }
  return places;
}

}  // namespace

bool has_parameter_hooks(const optim::Arena& arena) {
  return !hooked_places(arena).empty();
}

ParameterHooks::ParameterHooks(std::shared_ptr<optim::Arena> arena)
    : arena_(std::move(arena)), places_(hooked_places(*arena_)) {
  for (const std::size_t p : places_)
    autograd::hold_hooks(arena_->tensor(p), autograd::Hooks::wait);
}

ParameterHooks::~ParameterHooks() {
  for (const std::size_t p : places_)
    if (const Tensor x = arena_->tensor(p); x.defined())
      autograd::hold_hooks(x, autograd::Hooks::run);
}

void ParameterHooks::run(GradientPlace where,
                         const std::function<void(std::size_t place)>& add_earlier) const {
  const autograd::NoGrad off;
  for (const std::size_t p : places_) {
    const Tensor x = arena_->tensor(p);
    if (!x.defined() || !autograd::stored_gradient(x).defined()) continue;
    change_whole_gradient(*arena_, p, where, [&] {
      autograd::run_gradient_hooks(x);
      add_earlier(p);
      autograd::run_accumulate_hook(x);
    });
  }
}

}  // namespace tandem::parallel
