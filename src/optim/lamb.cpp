// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/lamb.hpp"

#include <cmath>

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/lamb.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

Options named(const LAMBOptions& o) {
  return {{"lr", o.lr},
          {"beta1", o.betas[0]},
          {"beta2", o.betas[1]},
          {"eps", o.eps},
          {"weight_decay", o.weight_decay}};
}

}  // namespace

LAMB::LAMB(const ParamList& params, LAMBOptions options)
    : LAMB(std::vector<GroupSpec>{{params}}, options) {}

LAMB::LAMB(const std::vector<GroupSpec>& groups, LAMBOptions options)
    : Optimizer("LAMB", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    LAMB::check_options(group);
}

void LAMB::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "eps", "weight_decay"});
  check_share(name(), group, {"beta1", "beta2"});
}

std::vector<StateSpec> LAMB::state(const ParamGroup&) const {
  return {{"exp_avg"}, {"exp_avg_sq"}};
}

void LAMB::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const Tensor& m = slice.state[0];
  const Tensor& v = slice.state[1];
  const double beta1 = group.get("beta1"), beta2 = group.get("beta2");
  const kernels::LambNumbers k{group.lr(),
                               beta1,
                               beta2,
                               group.get("eps"),
                               group.get("weight_decay"),
                               1 - std::pow(beta1, static_cast<double>(t)),
                               std::sqrt(1 - std::pow(beta2, static_cast<double>(t)))};
  const Work work = make_work(Work::Kind::optimizer,
                              "lamb",
                              {p, slice.grad, m, v},
                              {p, m, v},
                              24.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::lamb(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), m.data(), v.data());
  });
}

}  // namespace tandem::optim
