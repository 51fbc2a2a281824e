// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/adagrad.hpp"

#include "tandem/runtime/dispatch.hpp"
#include "tandem/tensor/access.hpp"

#include "kernels/optimizer.hpp"
#include "optim/check_range.hpp"

namespace tandem::optim {
namespace {

Options named(const AdagradOptions& o) {
  return {{"lr", o.lr},
          {"lr_decay", o.lr_decay},
          {"weight_decay", o.weight_decay},
          {"initial_accumulator_value", o.initial_accumulator_value},
          {"eps", o.eps}};
}

}  // namespace

Adagrad::Adagrad(const ParamList& params, AdagradOptions options)
    : Adagrad(std::vector<GroupSpec>{{params}}, options) {}

Adagrad::Adagrad(const std::vector<GroupSpec>& groups, AdagradOptions options)
    : Optimizer("Adagrad", groups, named(options)) {
  for (const ParamGroup& group : param_groups())
    Adagrad::check_options(group);
}

void Adagrad::check_options(const ParamGroup& group) const {
  check_not_negative(
      name(), group, {"lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"});
}

std::vector<StateSpec> Adagrad::state(const ParamGroup& group) const {
  return {{"sum", group.get("initial_accumulator_value")}};
}

void Adagrad::update(const UpdateSlice& slice, const ParamGroup& group, std::int64_t t) {
  const Tensor& p = slice.param;
  const Tensor& sum = slice.state[0];
  const kernels::AdagradNumbers k{
      group.lr() / (1 + static_cast<double>(t - 1) * group.get("lr_decay")),
      group.get("eps"),
      group.get("weight_decay")};
  const Work work = make_work(Work::Kind::optimizer,
                              "adagrad",
                              {p, slice.grad, sum},
                              {p, sum},
                              8.0 * static_cast<double>(p.numel()));
  dispatch_on_any(p.stream(), work, [&](auto& s) {
    kernels::adagrad(s, p.dtype(), p.numel(), k, p.data(), slice.grad.data(), sum.data());
  });
}

}  // namespace tandem::optim
