// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/copies.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

std::vector<optim::ArenaSlice> Copies::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (int r = 0; r < size(); ++r) {
    const auto own = arena(r).whole_slices();
    slices.insert(slices.end(), own.begin(), own.end());
  }
  return slices;
}

void Copies::share_gradients() {
  reduce_rest();
  if (equal_ == versions()) return;
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (const Bucket& bucket : buckets()) {
    const Share elements = bucket.range();
    const Tensor from = range(arena(0).grads(bucket.block), elements);
    for (int r = 1; r < size(); ++r)
      range(arena(r).grads(bucket.block), elements).copy_(from);
  }
  equal_ = versions();
}

}  // namespace tandem::parallel
