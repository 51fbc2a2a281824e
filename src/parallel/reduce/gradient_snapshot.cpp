// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/gradient_snapshot.hpp"

#include <algorithm>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/error.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/runtime/interrupt.hpp"

namespace tandem::parallel {
namespace {

/// Copies of many gradients take their time, in which nobody waits for a device.
void check_not_interrupted() {
  if (InterruptScope* const scope = InterruptScope::current(); scope && scope->wants_stop())
    throw CommAborted("DataParallel: the caller was interrupted");
}

}  // namespace

void GradientSnapshot::take(std::shared_ptr<optim::Arena> arena) {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.category = Category::gradient; });
  Saved saved{std::move(arena), {}};
  for (const std::size_t p : saved.arena->layout().place_indices()) {
    check_not_interrupted();
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

bool GradientSnapshot::any() const noexcept {
  return std::ranges::any_of(saved_, [](const Saved& saved) {
    return std::ranges::any_of(saved.gradients, [](const Tensor& g) { return g.defined(); });
  });
}

void GradientSnapshot::add() const {
  for (const Saved& saved : saved_)
    for (std::size_t p = 0; p < saved.gradients.size(); ++p)
      if (saved.gradients[p].defined()) add(saved, p);
}

void GradientSnapshot::add(std::size_t place) {
  Saved& first = saved_.front();
  if (!first.gradients[place].defined() || first.added[place]) return;
  add(first, place);
  first.added[place] = true;
}

void GradientSnapshot::add(GradientPlace where) {
  const Saved& first = saved_.front();
  for (std::size_t p = 0; p < first.gradients.size(); ++p)
    if (first.gradients[p].defined() && !first.added[p])
      change_whole_gradient(*first.arena, p, where, [&] { add(p); });
}

}  // namespace tandem::parallel
