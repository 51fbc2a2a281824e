// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/radam.hpp"

#include <cmath>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/adam.hpp"
#include "optim/check_range.hpp"
#include "optim/weight_decay.hpp"

namespace tandem::optim {
namespace {

Options named(const RAdamOptions& o) {
  return {{"lr", o.lr},
          {"beta1", o.betas[0]},
          {"beta2", o.betas[1]},
          {"eps", o.eps},
          {"weight_decay", o.weight_decay},
          {"decoupled_weight_decay", o.decoupled_weight_decay ? 1 : 0}};
}

/// How much shorter than Adam's a step is whose variance is that of later steps. 0: the running
/// mean of the squares has too few of them to divide by.
double rectification(double beta2, double t) {
  const double power = std::pow(beta2, t);
  const double most = 2 / (1 - beta2) - 1;  // gradients that the mean stands for, in the end
  const double now = most - 2 * t * power / (1 - power);
  if (now <= 5) return 0;
  return std::sqrt((now - 4) * (now - 2) * most / ((most - 4) * (most - 2) * now));
}

}  // namespace

RAdam::RAdam(const ParamList& params, RAdamOptions options)
    : RAdam(std::vector<GroupSpec>{{params}}, options) {}

RAdam::RAdam(const std::vector<GroupSpec>& groups, RAdamOptions options)
    : Optimizer("RAdam", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    RAdam::check_options(group);
}

void RAdam::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "eps", "weight_decay"});
  check_share(name(), group, {"beta1", "beta2"});
  check_flag(name(), group, "decoupled_weight_decay");
}

std::vector<StateSpec> RAdam::state(const ParamGroup&) const {
  return {{"exp_avg"}, {"exp_avg_sq"}};
}

void RAdam::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const Tensor& m = slice.state[0];
  const Tensor& v = slice.state[1];
  const double beta1 = group.get("beta1"), beta2 = group.get("beta2");
  const auto steps = static_cast<double>(t);
  const double root_bias2 = std::sqrt(1 - std::pow(beta2, steps));
  const double shorter = rectification(beta2, steps);
  const auto [l2, factor] = weight_decay_of(group);
  const kernels::RadamNumbers k{
      {beta1, beta2, group.get("eps"), l2, factor},
      group.lr() / (1 - std::pow(beta1, steps)) * (shorter > 0 ? root_bias2 * shorter : 1),
      shorter > 0};
  const Work work = make_work(Work::Kind::optimizer,
                              "radam",
                              {p, slice.grad, m, v},
                              {p, m, v},
                              13.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::radam(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), m.data(), v.data());
  });
}

}  // namespace tandem::optim
