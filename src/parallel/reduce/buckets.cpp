// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/buckets.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "optim/gradients.hpp"

namespace tandem::parallel {

namespace {

std::int64_t numel(const Bucket& bucket) {
  std::int64_t sum = 0;
  for (const Share& run : bucket.runs)
    sum += run.size();
  return sum;
}

/// Adds a place to the run that it lies next to, or as a run of its own.
void add_run(std::vector<Share>& runs, const optim::ArenaPlace& place) {
  Share added{place.offset, place.offset + place.extent};
  const auto touches = [&](const Share& run) {
    return run.begin == added.end || run.end == added.begin;
  };
  for (auto run = std::ranges::find_if(runs, touches); run != runs.end();
       run = std::ranges::find_if(runs, touches)) {
    added = {std::min(run->begin, added.begin), std::max(run->end, added.end)};
    runs.erase(run);
  }
  runs.insert(std::ranges::upper_bound(runs, added.begin, {}, &Share::begin), added);
}

std::vector<Bucket> fill_buckets(const optim::ArenaLayout& layout,
                                 const std::vector<std::size_t>& order,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes) {
  std::vector<Bucket> buckets;
  std::vector<std::size_t> open(layout.blocks().size(), SIZE_MAX);  // by block: its open bucket
  for (const std::size_t p : order) {
    const optim::ArenaPlace& place = layout.places()[p];
    const optim::ArenaBlock& block = layout.blocks()[static_cast<std::size_t>(place.block)];
    auto& current = open[static_cast<std::size_t>(place.block)];
    if (current == SIZE_MAX) {
      current = buckets.size();
      buckets.push_back({place.block, {}, {}});
    }
    Bucket& bucket = buckets[current];
    add_run(bucket.runs, place);
    bucket.places.push_back(p);
    const std::size_t limit = current == 0 ? first_nbytes : nbytes;
    if (static_cast<std::size_t>(numel(bucket)) * itemsize(block.dtype) >= limit)
      current = SIZE_MAX;
  }
  return buckets;
}

/// The places that train, the last one first.
std::vector<std::size_t> reverse_order(const optim::ArenaLayout& layout) {
  std::vector<std::size_t> order;
  for (std::size_t p = layout.places().size(); p-- > 0;) {
    const auto block = static_cast<std::size_t>(layout.places()[p].block);
    if (layout.blocks()[block].trains == optim::Trains::yes) order.push_back(p);
  }
  return order;
}

}  // namespace

std::vector<Bucket> plan_buckets(const optim::ArenaLayout& layout,
                                 std::size_t first_nbytes,
                                 std::size_t nbytes) {
  return fill_buckets(layout, reverse_order(layout), first_nbytes, nbytes);
}

std::vector<Bucket> plan_buckets_as_ready(const optim::ArenaLayout& layout,
                                          const std::vector<std::size_t>& ready,
                                          std::size_t first_nbytes,
                                          std::size_t nbytes) {
  std::vector<std::size_t> order = ready;
  for (const std::size_t p : reverse_order(layout))
    if (std::ranges::find(ready, p) == ready.end()) order.push_back(p);
  return fill_buckets(layout, order, first_nbytes, nbytes);
}

std::vector<Bucket> plan_broadcast(const optim::ArenaLayout& layout,
                                   std::size_t first_nbytes,
                                   std::size_t nbytes) {
  std::vector<std::size_t> order(layout.places().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return fill_buckets(layout, order, first_nbytes, nbytes);
}

Tensor range(const Tensor& flat, const Share& elements) {
  return as_strided(flat, {elements.size()}, {1}, flat.impl().offset + elements.begin);
}

Share share_of(const Bucket& bucket, int r, int ranks) noexcept {
  return even_share(bucket.range(), r, ranks);
}

BucketReducer::BucketReducer(std::shared_ptr<optim::Arena> arena,
                             std::shared_ptr<const std::vector<Bucket>> buckets,
                             Reduction reduction)
    : arena_(std::move(arena)),
      buckets_(std::move(buckets)),
      reduction_(reduction),
      bucket_of_(arena_->layout().places().size(), SIZE_MAX),
      used_(bucket_of_.size()),
      complete_(bucket_of_.size()) {
  for (std::size_t b = 0; b < buckets_->size(); ++b) {
    const Bucket& bucket = (*buckets_)[b];
    const Tensor& grads = arena_->grads(bucket.block);
    flat_.emplace_back();
    for (const Share& run : bucket.runs)
      flat_.back().push_back(range(grads, run));
    for (const std::size_t place : bucket.places)
      bucket_of_[place] = b;
  }
}

void BucketReducer::arm(comm::Communicator* group, std::int64_t backwards, Used used) {
  disarm();
  non_finite_ = {};
  group_ = group;
  armed_ = true;
  next_ = 0;
  backward_ = 0;
  backwards_ = backwards;
  if (used == Used::fresh) std::ranges::fill(used_, std::uint8_t{0});
  std::ranges::fill(complete_, std::uint8_t{0});
  ready_.clear();
  first_launch_.reset();
  pending_.clear();
  for (const Bucket& bucket : *buckets_)
    pending_.push_back(static_cast<std::int64_t>(bucket.places.size()));
}

void BucketReducer::on_gradient(std::size_t place) {
  if (!armed_ || bucket_of_[place] == SIZE_MAX) return;
  used_[place] = 1;
  if (backward_ < backwards_ || complete_[place] != 0) return;
  complete(place);
  launch_ready();
}

void BucketReducer::complete(std::size_t place) {
  complete_[place] = 1;
  if (!finishing_) ready_.push_back(place);
  --pending_[bucket_of_[place]];
  if (!non_finite_.defined()) return;
  const optim::ArenaPlace& at = arena_->layout().places()[place];
  const Tensor& grads = arena_->grads(at.block);
  optim::find_nonfinite(as_strided(grads, {at.extent}, {1}, grads.impl().offset + at.offset),
                        as_strided(non_finite_, {}, {}, static_cast<std::int64_t>(place)));
}

void BucketReducer::watch_non_finite() {
  const auto places = static_cast<std::int64_t>(bucket_of_.size());
  non_finite_ = zeros({places}, {.dtype = DType::i32, .device = arena_->device()});
}

std::vector<double> BucketReducer::non_finite() const {
  return non_finite_.defined() ? non_finite_.to_doubles() : std::vector<double>{};
}

void BucketReducer::launch_ready() {
  if (reduction_.at_end && !finishing_) return;
  for (; next_ < flat_.size() && pending_[next_] == 0; ++next_) {
    if (group_ == nullptr) continue;
    const ContextScope scope([&](Context& c) {
      c.phase = Phase::reduce;
      c.bucket = static_cast<int>(next_);
    });
    if (!first_launch_) first_launch_ = Clock::now();
    handles_.push_back(launch(next_));
  }
}

comm::Handle BucketReducer::launch(std::size_t bucket) {
  if (reduction_.to == Reduction::To::all) return launch_to_all(bucket);
  const Tensor& whole = flat_[bucket].front();
  if (reduction_.to != Reduction::To::shares)
    return group_->start_reduce(whole, comm::ReduceOp::sum, 0);
  const Bucket& b = (*buckets_)[bucket];
  const Share share = share_of(b, group_->rank(), group_->size());
  const std::int64_t first = b.range().begin;
  const Tensor part = range(whole, {share.begin - first, share.end - first});
  return group_->start({comm::Collective::Kind::reduce_scatter, whole, part, comm::ReduceOp::sum});
}

comm::Handle BucketReducer::launch_to_all(std::size_t bucket) {
  if (hook_) {
    GradBucket view{static_cast<int>(bucket), bucket + 1 == flat_.size(), flat_[bucket], {}};
    for (const std::size_t place : (*buckets_)[bucket].places)
      view.parameters.push_back(arena_->layout().places()[place].name);
    return hook_(*group_, view);
  }
  const autograd::NoGrad off;
  std::vector<comm::Collective> parts;
  for (Tensor part : flat_[bucket]) {
    if (factor_ != 1) part.mul_(factor_);
    parts.push_back(comm::Collective::all_reduce(part, comm::ReduceOp::sum));
  }
  return group_->start_coalesced(std::move(parts));
}

std::vector<std::size_t> BucketReducer::missing() const {
  std::vector<std::size_t> places;
  for (std::size_t place = 0; place < bucket_of_.size(); ++place)
    if (bucket_of_[place] != SIZE_MAX && complete_[place] == 0) places.push_back(place);
  return places;
}

void BucketReducer::finish() {
  TANDEM_ASSERT(armed_, "finish without arm");
  finishing_ = true;
  for (const std::size_t place : missing()) {
    // This replica's part is zero, unless an earlier backward has left something to add to.
    if (!autograd::stored_gradient(arena_->tensor(place)).defined())
      arena_->gradient(place).fill_(0);
    complete(place);
  }
  launch_ready();
  for (std::size_t b = 0; b < handles_.size(); ++b) {
    const ContextScope scope([&](Context& c) {
      c.phase = Phase::reduce;
      c.bucket = static_cast<int>(b);
    });
    handles_[b].wait();
  }
  disarm();
}

void BucketReducer::disarm() noexcept {
  handles_.clear();
  armed_ = false;
  finishing_ = false;
  group_ = nullptr;
}

}  // namespace tandem::parallel
