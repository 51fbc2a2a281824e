// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/rmsprop.hpp"

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/optimizer.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

Options named(const RMSpropOptions& o) {
  return {{"lr", o.lr},
          {"alpha", o.alpha},
          {"eps", o.eps},
          {"weight_decay", o.weight_decay},
          {"momentum", o.momentum},
          {"centered", o.centered ? 1 : 0}};
}

}  // namespace

RMSprop::RMSprop(const ParamList& params, RMSpropOptions options)
    : RMSprop(std::vector<GroupSpec>{{params}}, options) {}

RMSprop::RMSprop(const std::vector<GroupSpec>& groups, RMSpropOptions options)
    : Optimizer("RMSprop", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    RMSprop::check_options(group);
}

void RMSprop::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "alpha", "eps", "weight_decay", "momentum"});
  check_flag(name(), group, "centered");
}

std::vector<StateSpec> RMSprop::state(const ParamGroup& group) const {
  std::vector<StateSpec> state{{"square_avg"}};
  if (group.get("momentum") > 0) state.push_back({"momentum_buffer"});
  if (group.get("centered") != 0) state.push_back({"grad_avg"});
  return state;
}

void RMSprop::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t) {
  const Tensor& p = slice.param;
  const Tensor& v = slice.state[0];
  const bool has_momentum = group.get("momentum") > 0;
  const Tensor buf = has_momentum ? slice.state[1] : Tensor{};
  const Tensor mean = group.get("centered") != 0 ? slice.state.back() : Tensor{};
  const kernels::RmspropNumbers k{group.lr(),
                                  group.get("alpha"),
                                  group.get("eps"),
                                  group.get("weight_decay"),
                                  group.get("momentum")};
  const Work work = make_work(Work::Kind::optimizer,
                              "rmsprop",
                              {p, slice.grad, v, buf, mean},
                              {p, v, buf, mean},
                              10.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::rmsprop(s,
                     p.dtype(),
                     p.numel(),
                     k,
                     p.data(),
                     slice.grad.data(),
                     v.data(),
                     mean.defined() ? mean.data() : nullptr,
                     buf.defined() ? buf.data() : nullptr);
  });
}

}  // namespace tandem::optim
