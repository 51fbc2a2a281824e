// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/sgd.hpp"

#include <cmath>

#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/optimizer.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

Options named(const SGDOptions& o) {
  return {{"lr", o.lr},
          {"momentum", o.momentum},
          {"dampening", o.dampening},
          {"weight_decay", o.weight_decay},
          {"nesterov", o.nesterov ? 1 : 0}};
}

}  // namespace

SGD::SGD(const ParamList& params, SGDOptions options)
    : SGD(std::vector<GroupSpec>{{params}}, options) {}

SGD::SGD(const std::vector<GroupSpec>& groups, SGDOptions options)
    : Optimizer("SGD", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    SGD::check_options(group);
}

void SGD::check_options(const ParamGroup& group) const {
  check_not_negative(name(), group, {"lr", "momentum", "weight_decay"});
  check_flag(name(), group, "nesterov");
  const double momentum = group.get("momentum"), dampening = group.get("dampening");
  TANDEM_CHECK(
      std::isfinite(dampening), name(), ": dampening is ", dampening, "; it must be finite");
  TANDEM_CHECK(group.get("nesterov") == 0 || (momentum > 0 && dampening == 0),
               name(),
               ": nesterov needs momentum above 0 and dampening 0, got ",
               momentum,
               " and ",
               dampening);
}

std::vector<StateSpec> SGD::state(const ParamGroup& group) const {
  if (group.get("momentum") == 0) return {};
  return {{"momentum_buffer"}};
}

void SGD::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const double momentum = group.get("momentum");
  const bool nesterov = group.get("nesterov") != 0;
  kernels::SgdNumbers k{group.lr(),
                        group.get("weight_decay"),
                        momentum,
                        1 - group.get("dampening"),
                        nesterov ? 1.0 : 0.0,
                        nesterov ? momentum : 1.0};
  if (t == 1) {  // the buffer becomes the gradient, whatever the dampening
    k.old_share = 0;
    k.new_share = 1;
  }
  const Tensor buf = slice.state.empty() ? Tensor{} : slice.state.front();
  const Work work = make_work(Work::Kind::optimizer,
                              "sgd",
                              {p, slice.grad, buf},
                              {p, buf},
                              4.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    if (buf.defined()) {
      kernels::sgd_momentum(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), buf.data());
    } else {
      kernels::sgd(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data());
    }
  });
}

}  // namespace tandem::optim
