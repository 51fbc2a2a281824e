// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/reduce/bucket_reducer.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/gradient_source.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"

namespace tandem::parallel {

namespace {

void enter(Context& c, std::size_t bucket) {
  c.phase = Phase::reduce;
  c.bucket = static_cast<int>(bucket);
}

}  // namespace

BucketReducer::BucketReducer(std::shared_ptr<optim::Arena> arena,
                             std::shared_ptr<const std::vector<Bucket>> buckets,
                             Reduction reduction)
    : arena_(std::move(arena)),
      buckets_(std::move(buckets)),
      reduction_(reduction),
      tally_(arena_->layout().places().size(), *buckets_),
      watch_(arena_) {
  for (const Bucket& bucket : *buckets_) {
    const Tensor& grads = arena_->grads(bucket.block);
    flat_.emplace_back();
    for (const Share& run : bucket.runs)
      flat_.back().push_back(range(grads, run));
  }
}

void BucketReducer::arm(const Groups& groups, std::int64_t backwards, GradientTally::Used used) {
  disarm();
  watch_.stop();
  tally_.begin(backwards, used);
  first_launch_.reset();
  groups_ = groups;
  sums_.begin(groups.processes);
  armed_ = true;
}

void BucketReducer::on_gradient(std::size_t place) {
  if (!armed_ || !tally_.note_made(place)) return;
  watch_.look_at(place);
  if (!reduction_.at_end) launch_complete();
}

void BucketReducer::launch_complete() {
  while (launched_.size() < flat_.size() && tally_.is_bucket_complete(launched_.size()))
    launched_.push_back(launch(launched_.size()));
  add_up_reduced(Wait::no);
}

BucketReducer::Launched BucketReducer::launch(std::size_t bucket) {
  const Tensor& whole = flat_[bucket].front();
  if (groups_.replicas == nullptr) return {.part = whole};
  const ContextScope scope([&](Context& c) { enter(c, bucket); });
  if (gives_shares_away()) {
    end_first(bucket);
    whole.buffer().check_awake("reduce");
  }
  if (!first_launch_) first_launch_ = Clock::now();
  switch (reduction_.to) {
    case Reduction::To::rank_0:
      return launch_to_rank_0(bucket);
    case Reduction::To::shares:
      return launch_to_shares(bucket);
    case Reduction::To::all:
      break;
  }
  return {.handle = launch_to_all(bucket)};
}

BucketReducer::Launched BucketReducer::launch_to_rank_0(std::size_t bucket) {
  Launched launched{.sent = outgoing(bucket)};
  launched.handle = groups_.replicas->start_reduce(launched.sent, comm::ReduceOp::sum, 0);
  if (groups_.replicas->rank() == 0) launched.part = flat_[bucket].front();
  return launched;
}

BucketReducer::Launched BucketReducer::launch_to_shares(std::size_t bucket) {
  const Bucket& b = (*buckets_)[bucket];
  const Share share = share_of(b, groups_.replicas->rank(), groups_.replicas->size());
  const std::int64_t first = b.range().begin;
  const Tensor in_arena = range(flat_[bucket].front(), {share.begin - first, share.end - first});
  Launched launched{.sent = outgoing(bucket)};
  launched.part = shares_->gradient_share(b.block, in_arena);
  launched.handle = groups_.replicas->start(
      {comm::Collective::Kind::reduce_scatter, launched.sent, launched.part, comm::ReduceOp::sum});
  return launched;
}

Tensor BucketReducer::outgoing(std::size_t bucket) const {
  Tensor whole = shares_->outgoing(flat_[bucket].front());
  if (factor_ != 1) {
    const autograd::NoGrad off;
    whole.mul_(factor_);
  }
  return whole;
}

comm::Handle BucketReducer::launch_to_all(std::size_t bucket) {
  if (hook_) {
    GradBucket view{static_cast<int>(bucket), bucket + 1 == flat_.size(), flat_[bucket], {}};
    for (const std::size_t place : (*buckets_)[bucket].places)
      view.parameters.push_back(arena_->layout().places()[place].name);
    return hook_(*groups_.replicas, view);
  }
  const autograd::NoGrad off;
  std::vector<comm::Collective> parts;
  for (Tensor part : flat_[bucket]) {
    if (factor_ != 1) part.mul_(factor_);
    parts.push_back(comm::Collective::all_reduce(part, comm::ReduceOp::sum));
  }
  return groups_.replicas->start_coalesced(std::move(parts));
}

void BucketReducer::add_up_reduced(Wait wait) {
  while (sums_.lag_behind(launched_.size())) {
    const std::size_t bucket = sums_.next();
    Launched& launched = launched_[bucket];
    if (wait == Wait::no && !launched.handle.done()) return;
    const autograd::NoGrad off;
    const ContextScope scope([&](Context& c) { enter(c, bucket); });
    launched.handle.wait();
    sums_.start(launched.part);
  }
}

void BucketReducer::end_first(std::size_t count) {
  for (; ended_ < count; ++ended_) {
    launched_[ended_].handle.wait();
    add_up_reduced(Wait::yes);
    sums_.wait(ended_);
    launched_[ended_] = {};
    shares().end_reduction((*buckets_)[ended_].block);
  }
}

void BucketReducer::finish() {
  TANDEM_ASSERT(armed_, "finish without arm");
  for (const std::size_t place : tally_.missing()) {
    // This replica's part is zero, unless an earlier backward has left something to add to.
    if (!autograd::stored_gradient(arena_->tensor(place)).defined())
      arena_->gradient(place).fill_(0);
    tally_.complete(place);
    watch_.look_at(place);
  }
  launch_complete();
  add_up_reduced(Wait::yes);
  for (std::size_t b = 0; b < launched_.size(); ++b) {
    const ContextScope scope([&](Context& c) { enter(c, b); });
    launched_[b].handle.wait();
    sums_.wait(b);
  }
  end_first(launched_.size());
  shares().end_backward();
  disarm();
}

void BucketReducer::abandon() noexcept {
  const auto end = [](auto&& wait) {
    try {
      wait();
    } catch (...) {  // the group refuses what follows, and says why
    }
  };
  for (Launched& launched : launched_)
    end([&] { launched.handle.wait(); });
  for (std::size_t b = 0; b < launched_.size(); ++b)
    end([&] { sums_.wait(b); });
  disarm();
}

void BucketReducer::disarm() noexcept {
  launched_.clear();
  sums_.clear();
  ended_ = 0;
  armed_ = false;
  groups_ = {};
}

}  // namespace tandem::parallel
