// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/nadam.hpp"

#include <cmath>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/adam.hpp"
#include "optim/check_range.hpp"
#include "optim/weight_decay.hpp"

namespace tandem::optim {
namespace {

Options named(const NAdamOptions& o) {
  return {{"lr", o.lr},
          {"beta1", o.betas[0]},
          {"beta2", o.betas[1]},
          {"eps", o.eps},
          {"weight_decay", o.weight_decay},
          {"momentum_decay", o.momentum_decay},
          {"decoupled_weight_decay", o.decoupled_weight_decay ? 1 : 0}};
}

/// The momentum of step `t`.
double momentum(const ParamGroup& group, std::int64_t t) {
  const double decay = static_cast<double>(t) * group.get("momentum_decay");
  return group.get("beta1") * (1 - 0.5 * std::pow(0.96, decay));
}

}  // namespace

NAdam::NAdam(const ParamList& params, NAdamOptions options)
    : NAdam(std::vector<GroupSpec>{{params}}, options) {}

NAdam::NAdam(const std::vector<GroupSpec>& groups, NAdamOptions options)
    : Optimizer("NAdam", groups, named(options)), product_dtype_(options.product_dtype) {
  for (const ParamGroup& group : param_groups())
    NAdam::check_options(group);
}

void NAdam::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "eps", "weight_decay", "momentum_decay"});
  check_share(name(), group, {"beta1", "beta2"});
  check_flag(name(), group, "decoupled_weight_decay");
}

std::vector<StateSpec> NAdam::state(const ParamGroup&) const {
  return {{"exp_avg"}, {"exp_avg_sq"}};
}

std::vector<NumberSpec> NAdam::numbers() const {
  return {{.name = "mu_product", .start = 1, .least = 0, .most = 1}};
}

std::vector<double> NAdam::next_numbers(const std::vector<double>& before,
                                        const ParamGroup& group,
                                        std::int64_t t) const {
  const double next = momentum(group, t);
  if (product_dtype_ == DType::f64) return {before[0] * next};
  return {static_cast<float>(before[0]) * static_cast<float>(next)};
}

void NAdam::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const Tensor& m = slice.state[0];
  const Tensor& v = slice.state[1];
  const double beta2 = group.get("beta2");
  const double mu = momentum(group, t), mu_next = momentum(group, t + 1);
  const double product = slice.numbers[0];
  const auto [l2, factor] = weight_decay_of(group);
  const kernels::NadamNumbers k{{group.get("beta1"), beta2, group.get("eps"), l2, factor},
                                group.lr() * (1 - mu) / (1 - product),
                                group.lr() * mu_next / (1 - product * mu_next),
                                std::sqrt(1 - std::pow(beta2, static_cast<double>(t)))};
  const Work work = make_work(Work::Kind::optimizer,
                              "nadam",
                              {p, slice.grad, m, v},
                              {p, m, v},
                              16.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::nadam(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), m.data(), v.data());
  });
}

}  // namespace tandem::optim
