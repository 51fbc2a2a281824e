// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/sgd.hpp"

#include "tandem/core/check.hpp"
#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/optimizer.hpp"

namespace tandem::optim {
namespace {

Options named(const SGDOptions& o) {
  return {{"lr", o.lr},
          {"momentum", o.momentum},
          {"dampening", o.dampening},
          {"weight_decay", o.weight_decay},
          {"nesterov", o.nesterov ? 1 : 0}};
}

void check(const ParamGroup& group) {
  for (const char* option : {"lr", "momentum", "weight_decay"}) {
    TANDEM_CHECK(group.get(option) >= 0,
                 "SGD: ",
                 option,
                 " is ",
                 group.get(option),
                 "; it may not be negative");
  }
  TANDEM_CHECK(
      group.get("nesterov") == 0 || (group.get("momentum") > 0 && group.get("dampening") == 0),
      "SGD: nesterov needs momentum above 0 and dampening 0, got ",
      group.get("momentum"),
      " and ",
      group.get("dampening"));
}

}  // namespace

SGD::SGD(const ParamList& params, SGDOptions options)
    : SGD(std::vector<GroupSpec>{{params}}, options) {}

SGD::SGD(const std::vector<GroupSpec>& groups, SGDOptions options)
    : Optimizer("SGD", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    check(group);
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
  dispatch(p.stream(), work, [&](auto& s) {
    if (buf.defined()) {
      kernels::sgd_momentum(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), buf.data());
    } else {
      kernels::sgd(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data());
    }
  });
}

}  // namespace tandem::optim
