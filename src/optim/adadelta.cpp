// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/adadelta.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/optimizer.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

Options named(const AdadeltaOptions& o) {
  return {{"lr", o.lr}, {"rho", o.rho}, {"eps", o.eps}, {"weight_decay", o.weight_decay}};
}

}  // namespace

Adadelta::Adadelta(const ParamList& params, AdadeltaOptions options)
    : Adadelta(std::vector<GroupSpec>{{params}}, options) {}

Adadelta::Adadelta(const std::vector<GroupSpec>& groups, AdadeltaOptions options)
    : Optimizer("Adadelta", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    Adadelta::check_options(group);
}

void Adadelta::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "eps", "weight_decay"});
  const double rho = group.get("rho");
  TANDEM_CHECK(rho >= 0 && rho <= 1, name(), ": rho is ", rho, "; it must be in [0, 1]");
}

std::vector<StateSpec> Adadelta::state(const ParamGroup&) const {
  return {{"square_avg"}, {"acc_delta"}};
}

void Adadelta::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t) {
  const Tensor& p = slice.param;
  const Tensor& v = slice.state[0];
  const Tensor& u = slice.state[1];
  const kernels::AdadeltaNumbers k{
      group.lr(), group.get("rho"), group.get("eps"), group.get("weight_decay")};
  const Work work = make_work(Work::Kind::optimizer,
                              "adadelta",
                              {p, slice.grad, v, u},
                              {p, v, u},
                              17.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::adadelta(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), v.data(), u.data());
  });
}

}  // namespace tandem::optim
