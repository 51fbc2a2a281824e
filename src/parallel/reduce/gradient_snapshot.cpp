// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/gradient_snapshot.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

void GradientSnapshot::take(std::shared_ptr<optim::Arena> arena) {
  if (arena == nullptr) return;
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.category = Category::gradient; });
  Saved saved{std::move(arena), {}};
  for (const std::size_t p : saved.arena->layout().place_indices()) {
    const Tensor grad = saved.arena->tensor(p).grad();
    saved.gradients.push_back(grad.defined() ? grad.clone() : Tensor{});
  }
  saved_.push_back(std::move(saved));
}

void GradientSnapshot::restore() const {
  const autograd::NoGrad off;
  for (const auto& [arena, gradients] : saved_) {
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      const Tensor x = arena->tensor(p);
      x.set_grad({});
      if (gradients[p].defined()) x.set_grad(gradients[p]);
    }
  }
}

void GradientSnapshot::clear() const {
  for (const auto& [arena, gradients] : saved_)
    for (std::size_t p = 0; p < gradients.size(); ++p)
      if (gradients[p].defined()) arena->tensor(p).set_grad({});
}

void GradientSnapshot::add() const {
  const autograd::NoGrad off;
  for (const auto& [arena, gradients] : saved_) {
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      if (!gradients[p].defined()) continue;
      const Tensor x = arena->tensor(p);
      if (x.grad().defined())
        x.grad().add_(gradients[p]);
      else
        x.set_grad(gradients[p]);
    }
  }
}

}  // namespace tandem::parallel
