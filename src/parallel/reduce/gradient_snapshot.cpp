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
  saved.added.resize(saved.gradients.size());
  saved_.push_back(std::move(saved));
}

void GradientSnapshot::restore() const {
  const autograd::NoGrad off;
  for (const auto& [arena, gradients, added] : saved_) {
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      const Tensor x = arena->tensor(p);
      x.set_grad({});
      if (gradients[p].defined()) x.set_grad(gradients[p]);
    }
  }
}

void GradientSnapshot::clear() const {
  for (const auto& [arena, gradients, added] : saved_)
    for (std::size_t p = 0; p < gradients.size(); ++p)
      if (gradients[p].defined()) arena->tensor(p).set_grad({});
}

void GradientSnapshot::add(const Saved& saved, std::size_t place) {
  const autograd::NoGrad off;
  const Tensor& before = saved.gradients[place];
  const Tensor x = saved.arena->tensor(place);
  if (x.grad().defined())
    x.grad().add_(before);
  else
    x.set_grad(before);
}

void GradientSnapshot::add() const {
  for (const Saved& saved : saved_)
    for (std::size_t p = 0; p < saved.gradients.size(); ++p)
      if (saved.gradients[p].defined() && !saved.added[p]) add(saved, p);
}

void GradientSnapshot::add(std::size_t place) {
  if (saved_.empty() || !saved_.front().gradients[place].defined()) return;
  add(saved_.front(), place);
  saved_.front().added[place] = true;
}

}  // namespace tandem::parallel
