// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/update/shards.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

std::vector<optim::ArenaSlice> Shards::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (const Bucket& bucket : buckets()) {
    for (int r = 0; r < size(); ++r) {
      const Share share = share_of(bucket, r, size());
      if (share.begin == share.end) continue;
      const optim::Arena& arena = this->arena(r);
      slices.push_back({arena.device(),
                        bucket.block,
                        share.begin,
                        share.end,
                        range(arena.params(bucket.block), share),
                        range(arena.grads(bucket.block), share)});
    }
  }
  add_frozen(slices);
  return slices;
}

/// Frozen blocks have no bucket, but parameters in them may have state, which stays.
void Shards::add_frozen(std::vector<optim::ArenaSlice>& slices) const {
  const optim::ArenaLayout& layout = arena(0).layout();
  for (const int b : layout.block_indices()) {
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(b)];
    for (int r = 0; r < size() && block.trains == optim::Trains::no; ++r) {
      const Share share = even_share(block.numel, r, size());
      if (share.begin == share.end) continue;
      const optim::Arena& arena = this->arena(r);
      slices.push_back(
          {arena.device(), b, share.begin, share.end, range(arena.params(b), share), {}});
    }
  }
}

void Shards::copy_gradients(To to) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (const Bucket& bucket : buckets()) {
    for (int r = 1; r < size(); ++r) {
      const Share share = share_of(bucket, r, size());
      Tensor here = range(arena(0).grads(bucket.block), share);
      Tensor there = range(arena(r).grads(bucket.block), share);
      if (to == To::device_0)
        here.copy_(there);
      else
        there.copy_(here);
    }
  }
}

void Shards::complete() {
  if (!partial_.exchange(false)) return;
  try {
    copy_gradients(To::device_0);
  } catch (...) {
    partial_ = true;
    throw;
  }
  completed_ = versions();
}

void Shards::share_gradients() {
  reduce_rest();
  if (partial_ || completed_ == versions()) return;
  copy_gradients(To::shares);
  completed_ = versions();
}

void Shards::begin_backward() {
  const optim::Arena& arena = this->arena(0);
  for (std::size_t p = 0; partial_ && p < arena.layout().places().size(); ++p) {
    if (const Tensor x = arena.tensor(p); x.defined() && autograd::stored_gradient(x).defined())
      complete();
  }
  partial_ = false;
  completed_.clear();
}

}  // namespace tandem::parallel
