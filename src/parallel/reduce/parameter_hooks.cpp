// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/parameter_hooks.hpp"

#include <algorithm>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/optim/arena_sharing.hpp"

#include "autograd/leaf_hooks.hpp"
#include "parallel/reduce/buckets.hpp"

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

/// A part of a place's gradient, on device 0 and on another one that has it too.
struct GradientPair {
  Tensor here, there;
};

std::vector<GradientPair> pairs_of(const optim::Arena& arena, const optim::ArenaPlace& place) {
  std::vector<GradientPair> pairs;
  for (const optim::ArenaSlice& slice : arena.slices()) {
    const std::int64_t begin = std::max(slice.begin, place.offset);
    const std::int64_t end = std::min(slice.end, place.offset + place.extent);
    if (slice.device == arena.device() || slice.block != place.block || begin >= end) continue;
    pairs.push_back({range(arena.grads(place.block), {begin, end}),
                     range(slice.grads, {begin - slice.begin, end - slice.begin})});
  }
  return pairs;
}

}  // namespace

bool has_parameter_hooks(const optim::Arena& arena) {
  return !hooked_places(arena).empty();
}

ParameterHooks::ParameterHooks(std::shared_ptr<optim::Arena> arena) : arena_(std::move(arena)) {
  if (arena_ != nullptr) places_ = hooked_places(*arena_);
  for (const std::size_t p : places_)
    autograd::hold_hooks(arena_->tensor(p), autograd::Hooks::wait);
}

ParameterHooks::~ParameterHooks() {
  for (const std::size_t p : places_)
    if (const Tensor x = arena_->tensor(p); x.defined())
      autograd::hold_hooks(x, autograd::Hooks::run);
}

void ParameterHooks::run(Gradients where,
                         const std::function<void(std::size_t place)>& add_earlier) const {
  const autograd::NoGrad off;
  const auto sharing = arena_->sharing();
  const bool shares = sharing != nullptr && sharing->parts() == optim::ArenaSharing::Parts::shares;
  for (const std::size_t p : places_) {
    const Tensor x = arena_->tensor(p);
    if (!x.defined() || !autograd::stored_gradient(x).defined()) continue;
    std::vector<GradientPair> pairs;
    if (where == Gradients::spread) pairs = pairs_of(*arena_, arena_->layout().places()[p]);
    for (GradientPair& pair : pairs)
      if (shares) pair.here.copy_(pair.there);
    autograd::run_gradient_hooks(x);
    add_earlier(p);
    autograd::run_accumulate_hook(x);
    for (GradientPair& pair : pairs)
      pair.there.copy_(pair.here);
  }
}

}  // namespace tandem::parallel
