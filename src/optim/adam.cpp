// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/adam.hpp"

#include <cmath>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/adam.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

template <class O>
Options named(const O& o) {
  return {{"lr", o.lr},
          {"beta1", o.betas[0]},
          {"beta2", o.betas[1]},
          {"eps", o.eps},
          {"weight_decay", o.weight_decay}};
}

}  // namespace

Adam::Adam(const char* name, const std::vector<GroupSpec>& groups, const Options& options)
    : Optimizer(name, groups, options) {
  for (const ParamGroup& group : param_groups())
    Adam::check_options(group);
}

Adam::Adam(const ParamList& params, AdamOptions options)
    : Adam("Adam", {{params}}, named(options)) {}
Adam::Adam(const std::vector<GroupSpec>& groups, AdamOptions options)
    : Adam("Adam", groups, named(options)) {}
AdamW::AdamW(const ParamList& params, AdamWOptions options)
    : Adam("AdamW", {{params}}, named(options)) {}
AdamW::AdamW(const std::vector<GroupSpec>& groups, AdamWOptions options)
    : Adam("AdamW", groups, named(options)) {}

void Adam::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "eps", "weight_decay"});
  check_share(name(), group, {"beta1", "beta2"});
}

std::vector<StateSpec> Adam::state(const ParamGroup&) const {
  return {{"exp_avg"}, {"exp_avg_sq"}};
}

Adam::Decay Adam::decay(const ParamGroup& group) const {
  return {group.get("weight_decay"), 1};
}
Adam::Decay AdamW::decay(const ParamGroup& group) const {
  return {0, 1 - group.lr() * group.get("weight_decay")};
}

void Adam::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const Tensor& m = slice.state[0];
  const Tensor& v = slice.state[1];
  const double beta1 = group.get("beta1"), beta2 = group.get("beta2");
  const auto [l2, factor] = decay(group);
  const kernels::AdamNumbers k{{beta1, beta2, group.get("eps"), l2, factor},
                               group.lr() / (1 - std::pow(beta1, static_cast<double>(t))),
                               std::sqrt(1 - std::pow(beta2, static_cast<double>(t)))};
  const Work work = make_work(Work::Kind::optimizer,
                              "adam",
                              {p, slice.grad, m, v},
                              {p, m, v},
                              14.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::adam(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), m.data(), v.data());
  });
}

}  // namespace tandem::optim
