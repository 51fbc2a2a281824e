// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/shards.hpp"

#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {
namespace {

Tensor range(const Tensor& flat, const Share& r) {
  return as_strided(flat, {r.end - r.begin}, {1}, flat.impl().offset + r.begin);
}

}  // namespace

Shards::Shards(std::vector<std::shared_ptr<optim::Arena>> arenas,
               std::shared_ptr<const std::vector<Bucket>> buckets,
               OnDevices on_devices,
               std::function<void()> reduce)
    : arenas_(std::move(arenas)),
      buckets_(std::move(buckets)),
      on_devices_(std::move(on_devices)),
      reduce_(std::move(reduce)) {}

std::vector<optim::ArenaSlice> Shards::slices() const {
  std::vector<optim::ArenaSlice> slices;
  for (const Bucket& bucket : *buckets_) {
    for (int r = 0; r < size(); ++r) {
      const Share share = share_of(bucket, r, size());
      if (share.begin == share.end) continue;
      const optim::Arena& arena = *arenas_[static_cast<std::size_t>(r)];
      slices.push_back({arena.device(),
                        bucket.block,
                        share.begin,
                        share.end,
                        range(arena.params(bucket.block), share),
                        range(arena.grads(bucket.block), share)});
    }
  }
  return slices;
}

std::vector<std::uint64_t> Shards::versions() const {
  std::vector<std::uint64_t> versions;
  for (const Bucket& bucket : *buckets_)
    versions.push_back(arenas_[0]->grads(bucket.block).buffer().version());
  return versions;
}

void Shards::copy_gradients(To to) const {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (const Bucket& bucket : *buckets_) {
    for (int r = 1; r < size(); ++r) {
      const Share share = share_of(bucket, r, size());
      Tensor here = range(arenas_[0]->grads(bucket.block), share);
      Tensor there = range(arenas_[static_cast<std::size_t>(r)]->grads(bucket.block), share);
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
  reduce_();
  if (partial_ || completed_ == versions()) return;
  copy_gradients(To::shares);
  completed_ = versions();
}

void Shards::begin_backward() {
  const optim::Arena& arena = *arenas_[0];
  for (std::size_t p = 0; partial_ && p < arena.layout().places().size(); ++p) {
    if (const Tensor x = arena.tensor(p); x.defined() && autograd::stored_gradient(x).defined())
      complete();
  }
  partial_ = false;
  completed_.clear();
}

void Shards::gather_values(comm::Communicator& group, int rank) const {
  const optim::Arena& arena = *arenas_[static_cast<std::size_t>(rank)];
  std::vector<comm::Handle> handles;
  for (const Bucket& bucket : *buckets_) {
    const Tensor& values = arena.params(bucket.block);
    handles.push_back(group.start({comm::Collective::Kind::all_gather,
                                   range(values, share_of(bucket, rank, size())),
                                   range(values, {bucket.begin, bucket.end})}));
  }
  for (comm::Handle& handle : handles)
    handle.wait();
}

void Shards::update(const std::function<std::exception_ptr(Device)>& part) {
  on_devices_([this, &part](int rank) {
    if (const auto error = part(arenas_[static_cast<std::size_t>(rank)]->device()))
      std::rethrow_exception(error);
  });
}

}  // namespace tandem::parallel
