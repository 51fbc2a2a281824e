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
  armed_ = true;
}

void BucketReducer::on_gradient(std::size_t place) {
  if (!armed_ || !tally_.note_made(place)) return;
  watch_.look_at(place);
  if (!reduction_.at_end) launch_complete();
}

void BucketReducer::launch_complete() {
  while (groups_.replicas != nullptr && handles_.size() < flat_.size() &&
         tally_.is_bucket_complete(handles_.size())) {
    const std::size_t bucket = handles_.size();
    const ContextScope scope([&](Context& c) { enter(c, bucket); });
    if (shares_ != nullptr) {
      end_first(bucket);
      flat_[bucket].front().buffer().check_awake("reduce");
    }
    if (!first_launch_) first_launch_ = Clock::now();
    handles_.push_back(launch(bucket));
  }
  if (groups_.processes != nullptr) add_up_reduced(Wait::no);
}

void BucketReducer::add_up_reduced(Wait wait) {
  const autograd::NoGrad off;
  while (sums_.size() < flat_.size()) {
    const std::size_t bucket = sums_.size();
    const ContextScope scope([&](Context& c) { enter(c, bucket); });
    if (groups_.replicas == nullptr) {
      if (!tally_.is_bucket_complete(bucket)) return;
    } else {
      if (bucket == handles_.size() || (wait == Wait::no && !handles_[bucket].done())) return;
      handles_[bucket].wait();
    }
    const Tensor part = reduced_part(bucket);
    const bool has_part = part.defined() && part.numel() > 0;
    sums_.push_back(has_part ? groups_.processes->start_all_reduce(part) : comm::Handle());
  }
}

void BucketReducer::end_first(std::size_t count) {
  for (; ended_ < count; ++ended_) {
    handles_[ended_].wait();
    if (groups_.processes != nullptr) {
      while (sums_.size() <= ended_)
        add_up_reduced(Wait::yes);
      sums_[ended_].wait();
    }
    sent_[ended_] = {};
    shares_->end_reduction((*buckets_)[ended_].block);
  }
}

comm::Handle BucketReducer::launch(std::size_t bucket) {
  if (reduction_.to == Reduction::To::all) return launch_to_all(bucket);
  Tensor whole = flat_[bucket].front();
  if (shares_ != nullptr) {
    whole = shares_->outgoing(whole);
    sent_.push_back(whole);
  }
  if (factor_ != 1) {
    const autograd::NoGrad off;
    whole.mul_(factor_);
  }
  if (reduction_.to != Reduction::To::shares)
    return groups_.replicas->start_reduce(whole, comm::ReduceOp::sum, 0);
  return groups_.replicas->start(
      {comm::Collective::Kind::reduce_scatter, whole, reduced_part(bucket), comm::ReduceOp::sum});
}

Tensor BucketReducer::reduced_part(std::size_t bucket) const {
  const Tensor& whole = flat_[bucket].front();
  if (groups_.replicas == nullptr) return whole;
  if (reduction_.to != Reduction::To::shares)
    return groups_.replicas->rank() == 0 ? whole : Tensor();
  const Bucket& b = (*buckets_)[bucket];
  if (shares_ != nullptr) return shares_->gradient_share(b.block);
  const Share share = share_of(b, groups_.replicas->rank(), groups_.replicas->size());
  const std::int64_t first = b.range().begin;
  return range(whole, {share.begin - first, share.end - first});
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
  if (groups_.processes != nullptr) add_up_reduced(Wait::yes);
  for (std::vector<comm::Handle>* handles : {&handles_, &sums_}) {
    for (std::size_t b = 0; b < handles->size(); ++b) {
      const ContextScope scope([&](Context& c) { enter(c, b); });
      (*handles)[b].wait();
    }
  }
  if (shares_ != nullptr && groups_.replicas != nullptr) {
    end_first(flat_.size());
    shares_->end_backward();
  }
  disarm();
}

void BucketReducer::abandon() noexcept {
  for (std::vector<comm::Handle>* handles : {&handles_, &sums_}) {
    for (comm::Handle& handle : *handles) {
      try {
        handle.wait();
      } catch (...) {  // the group refuses what follows, and says why
      }
    }
  }
  disarm();
}

void BucketReducer::disarm() noexcept {
  handles_.clear();
  sent_.clear();
  ended_ = 0;
  sums_.clear();
  armed_ = false;
  groups_ = {};
}

}  // namespace tandem::parallel
