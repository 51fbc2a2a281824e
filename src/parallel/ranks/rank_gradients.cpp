// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "parallel/ranks/rank_gradients.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "tandem/autograd/autograd.hpp"
#include "tandem/autograd/tape_context.hpp"
#include "tandem/core/check.hpp"
#include "tandem/runtime/context.hpp"
#include "tandem/tensor/factories.hpp"

#include "autograd/interval_calls.hpp"

namespace tandem::parallel {

/// The gradient source of one parameter.
class RankGradients::Source final : public autograd::GradientSource {
 public:
  Source(RankGradients& gradients, std::size_t place) : gradients_(gradients), place_(place) {}
  void complete() override { gradients_.on_access(place_); }

 private:
  RankGradients& gradients_;
  std::size_t place_;
};

RankGradients::RankGradients(DeviceReplica& replica,
                             comm::Communicator& comm,
                             const DistributedDataParallelOptions& options,
                             std::shared_ptr<RankParameters> parameters)
    : replica_(replica),
      comm_(comm),
      options_(options),
      parameters_(std::move(parameters)),
      log_(comm, params().layout()),
      unused_(options, comm, params().layout()) {
  divide_by(comm.size());
  parameters_->set_completion([this] { complete_shares(); });
  log_.note_planned(replica.reducer()->buckets());
  for (std::size_t p = 0; p < params().layout().places().size(); ++p) {
    sources_.push_back(std::make_shared<Source>(*this, p));
    if (const Tensor x = params().tensor(p); x.requires_grad())
      autograd::set_gradient_source(x, sources_.back());
  }
  replica.watch_gradients([this] {
    began_ = true;
    log_.note_gradient();
  });
}

void RankGradients::make_reducer(const std::vector<Bucket>& buckets) {
  replica_.reduce_by(std::make_shared<const std::vector<Bucket>>(buckets),
                     {.to = Reduction::To::all});
  divide_by(comm_.size());
  replica_.reducer()->set_hook(hook_);
}

void RankGradients::set_hook(CommHook hook) {
  TANDEM_CHECK(!is_reducing(),
               "register_comm_hook: a backward is under way; read a gradient, or let the optimizer "
               "step, first");
  TANDEM_CHECK(!hook_, "register_comm_hook: there is already a hook; one hook can call another");
  hook_ = std::move(hook);
  replica_.reducer()->set_hook(hook_);
}

void RankGradients::arm(GradientSync how) {
  began_ = false;
  reduces_ = how == GradientSync::on;
  awaits_first_ = !unreduced_;
  if (awaits_first_) parameters_->begin_backward();
  replica_.reducer()->arm(reduces_ ? parameters_->groups() : BucketReducer::Groups{},
                          0,
                          unreduced_ ? GradientTally::Used::kept : GradientTally::Used::fresh);
  unreduced_ |= !reduces_;
}

void RankGradients::on_access(std::size_t place) {
  if (!replica_.reducer()->is_armed()) return;
  if (context().phase != Phase::backward) {
    complete();
    return;
  }
  if (std::exchange(awaits_first_, false)) parameters_->note_earlier_gradients();
  TANDEM_CHECK(!reduces_ || !replica_.reducer()->tally().is_complete(place),
               parameters_->wrapper(),
               ": a second backward of one forward reaches '",
               params().layout().places()[place].name,
               "', whose gradient is being reduced; add the losses up, call the wrapper once for "
               "each backward, or run all but the last backward under no_sync");
}

void RankGradients::mark_forward(Context& c) {
  if (!parameters_->gives_up_failed_backwards()) return;
  const std::uint64_t forward = ++forwards_;
  autograd::BackwardInterval calls{
      .begin = [running = running_, forward] { running->insert(forward); },
      .end = [running = running_, forward] { running->erase(forward); }};
  autograd::change_tape_context(c, [&](autograd::TapeContext& t) {
    t.interval = std::make_shared<const autograd::IntervalMark>(
        autograd::IntervalMark{std::move(calls), std::move(t.interval)});
  });
}

void RankGradients::give_up() {
  replica_.reducer()->abandon();
  running_->clear();
  began_ = unreduced_ = false;
  if (!std::exchange(awaits_first_, false)) parameters_->discard_backward();
}

void RankGradients::complete() {
  if (!running_->empty() && context().phase != Phase::backward) give_up();
  if (!is_reducing()) return;
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  const std::vector<std::size_t> missing = replica_.reducer()->tally().missing();
  try {
    unused_.check(missing);
  } catch (...) {
    replica_.reducer()->disarm();
    began_ = false;
    throw;
  }
  try {
    finish(missing);
  } catch (...) {
    if (parameters_->gives_up_failed_backwards()) give_up();
    throw;
  }
  log_.note_times(replica_.reducer()->first_launch());
}

void RankGradients::complete_shares() {
  complete();
  TANDEM_CHECK(
      !unreduced_ || reduces_,
      "FullyShardedDataParallel: the gradients of a backward under no_sync have not been "
      "reduced, so no rank has its share of them; run a backward outside of no_sync before "
      "the optimizer's step");
}

void RankGradients::reduce_zeros() {
  const autograd::NoGrad off;
  const ContextScope scope([](Context& c) { c.phase = Phase::reduce; });
  for (std::size_t p = 0; p < params().layout().places().size(); ++p)
    params().tensor(p).set_grad({});
  unreduced_ = false;
  arm(GradientSync::on);
  finish(replica_.reducer()->tally().missing());
}

void RankGradients::finish(const std::vector<std::size_t>& missing) {
  replica_.reducer()->finish();
  const GradientTally& tally = replica_.reducer()->tally();
  // The ranks exchange this after the buckets: those that miss gradients have started fewer of them
  // during the backward than others.
  const std::vector<std::uint8_t> used = unused_.used_anywhere(tally.used());
  parameters_->end_reduction();
  began_ = unreduced_ = false;
  for (const std::size_t p : missing) {
    const Tensor x = params().tensor(p);
    if (used[p] != 0 && !autograd::stored_gradient(x).defined()) x.set_grad(params().gradient(p));
  }
  if (!log_.has_rebuilt() && !options_.find_unused_parameters && comm_.size() > 1)
    rebuild_order_ = tally.ready();
  log_.note_reduction(tally.ready());
}

void RankGradients::rebuild_buckets() {
  if (!rebuild_order_) return;
  const autograd::NoGrad off;
  const std::size_t places = params().layout().places().size();
  std::vector<std::int64_t> order(places, -1);
  std::ranges::copy(*rebuild_order_, order.begin());
  const ContextScope kept([](Context& c) { c.keeps_data = true; });
  const Tensor shared = from_host(
      std::span<const std::int64_t>(order), {static_cast<std::int64_t>(places)}, comm_.device());
  comm_.broadcast(shared, 0);
  std::vector<std::size_t> ready;
  for (const std::int64_t p : shared.to_host<std::int64_t>())
    if (p >= 0) ready.push_back(static_cast<std::size_t>(p));
  const auto buckets = plan_buckets_as_ready(params().layout(),
                                             ready,
                                             options_.exchange.first_bucket_nbytes,
                                             options_.exchange.bucket_nbytes);
  make_reducer(buckets);
  rebuild_order_.reset();
  log_.note_rebuilt(buckets);
}

}  // namespace tandem::parallel
