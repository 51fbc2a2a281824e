// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/grad_scaler.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/arithmetic.hpp"

#include "optim/gradients.hpp"

namespace tandem::optim {

GradScaler::GradScaler(const GradScalerOptions& options)
    : options_(options), scale_(options.init_scale) {
  TANDEM_CHECK(options.init_scale > 0,
               "GradScaler: init_scale is ",
               options.init_scale,
               "; it must be above 0");
  TANDEM_CHECK(options.growth_factor > 1,
               "GradScaler: growth_factor is ",
               options.growth_factor,
               "; it must be above 1");
  TANDEM_CHECK(options.backoff_factor > 0 && options.backoff_factor < 1,
               "GradScaler: backoff_factor is ",
               options.backoff_factor,
               "; it must be between 0 and 1");
  TANDEM_CHECK(options.growth_interval > 0,
               "GradScaler: growth_interval is ",
               options.growth_interval,
               "; it must be above 0");
}

Tensor GradScaler::scale(const Tensor& loss) const {
  return loss * scale_;
}

void GradScaler::unscale_(Optimizer& optimizer) {
  TANDEM_CHECK(!found_.has_value(),
               "GradScaler: the gradients have been unscaled already; call update() at the end of "
               "each step, and unscale_ or step once before it");
  std::vector<Tensor> params;
  for (const ParamGroup& group : optimizer.param_groups()) {
    for (const NamedParameter& p : group.params())
      params.push_back(p.tensor);
  }
  const autograd::NoGrad off;
  std::vector<Tensor> grads = gradient_runs(params);
  for (Tensor& x : grads)
    x.mul_(1 / scale_);
  found_ = has_nonfinite(grads, ranks_of(params).get()) ? Overflow::yes : Overflow::no;
}

bool GradScaler::step(Optimizer& optimizer, OptimizerStepOptions options) {
  if (!found_) unscale_(optimizer);
  if (found_ == Overflow::yes) return false;
  optimizer.step(options);
  return true;
}

void GradScaler::update() {
  TANDEM_CHECK(
      found_.has_value(),
      "GradScaler: update() was called before step() or unscale_(); call one of them first");
  update(*found_);
}

void GradScaler::update(Overflow found) noexcept {
  if (found == Overflow::yes) {
    scale_ *= options_.backoff_factor;
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == options_.growth_interval) {
    scale_ *= options_.growth_factor;
    growth_tracker_ = 0;
  }
  found_.reset();
}

void GradScaler::load_state(const State& state) noexcept {
  scale_ = state.scale;
  growth_tracker_ = state.growth_tracker;
  found_.reset();
}

}  // namespace tandem::optim
