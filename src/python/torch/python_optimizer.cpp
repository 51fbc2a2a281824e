// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/python_optimizer.hpp"

#include <string>

#include <ATen/ATen.h>
#include <nanobind/stl/string.h>

#include "tandem/core/check.hpp"
#include "tandem/libtorch/exchange.hpp"

#include "libtorch/update/updated_parameter.hpp"
#include "python/torch/optimizer_rule.hpp"
#include "python/torch/tensor_caster.hpp"

namespace tandem::python {
namespace nb = nanobind;
namespace {

using libtorch::detail::UpdatedParameter;

/// A number, a flag, or a tensor that holds one.
double number(nb::handle value) {
  return nb::cast<double>(nb::float_(nb::borrow(value)));
}

std::string entry(const UpdatedParameter& parameter, const std::string& name) {
  return parameter.shown.name + "." + name;
}

/// Whether there is a state that no step has changed: Adagrad makes one of its own.
bool has_begun_with(const nb::object& states, const nb::object& parameter) {
  const nb::object state = states.attr("get")(parameter);
  if (state.is_none()) return false;
  const nb::object steps = state.attr("get")("step");
  return !steps.is_none() && number(steps) == 0;
}

}  // namespace

PythonOptimizer::PythonOptimizer(nb::handle optimizer, const OptimizerRule& rule) : rule_(rule) {
  const InterpreterLock lock;
  user_ = share(optimizer);
}

std::vector<PythonOptimizer::Group> PythonOptimizer::groups() const {
  const InterpreterLock lock;
  std::vector<Group> groups;
  for (nb::handle group : user().attr("param_groups")) {
    Group read;
    for (nb::handle x : group["params"])
      read.parameters.push_back(nb::cast<at::Tensor>(x));
    for (const std::string& name : rule_.numbers)
      read.options[name] = number(group[name.c_str()]);
    if (rule_.has_betas) {
      const nb::object betas = group["betas"];
      read.options["beta1"] = number(betas[0]);
      read.options["beta2"] = number(betas[1]);
    }
    for (const std::string& name : rule_.must_be_off)
      TANDEM_CHECK(!nb::cast<bool>(nb::bool_(nb::borrow(group[name.c_str()]))),
                   "Optimizer: ",
                   name,
                   " is on, which the shared update of ",
                   rule_.name,
                   " does not have; turn it off, or pass PyTorch's own optimizer to step, which "
                   "updates on the first device");
    groups.push_back(std::move(read));
  }
  return groups;
}

std::unique_ptr<optim::Optimizer> PythonOptimizer::make(
    const std::vector<optim::GroupSpec>& groups) const {
  return rule_.make(groups);
}

void PythonOptimizer::read(const UpdatedParameter& parameter, optim::OptimizerState& to) const {
  const InterpreterLock lock;
  const nb::object states = user().attr("state");
  const nb::object own = nb::cast(parameter.own);
  if (PySequence_Contains(states.ptr(), own.ptr()) != 1) return;
  const nb::object state = states[own];
  const auto find = [&](const std::string& name) { return state.attr("get")(name.c_str()); };
  const bool counts_steps = !rule_.state_numbers.empty();
  if (counts_steps) {
    const nb::object steps = find("step");
    if (steps.is_none() || number(steps) == 0) return;
  }
  bool has_any = false;
  for (const std::string& name : rule_.tensors) {
    const nb::object found = find(name);
    if (found.is_none()) continue;
    has_any = true;
    const at::Tensor here = nb::cast<at::Tensor>(found).detach().to(parameter.own.device(),
                                                                    parameter.own.scalar_type());
    to.tensors[entry(parameter, name)] =
        libtorch::from_torch(here.contiguous(), parameter.shown.tensor.device());
  }
  if (!has_any) return;
  // PyTorch's SGD counts no steps: the first one has made the buffer.
  if (!counts_steps) to.numbers[entry(parameter, "step")] = 1;
  for (const std::string& name : rule_.state_numbers)
    to.numbers[entry(parameter, name)] = number(find(name));
}

void PythonOptimizer::write(const optim::OptimizerState& from, const UpdatedParameter& parameter) {
  const InterpreterLock lock;
  const nb::object states = user().attr("state");
  const nb::object own = nb::cast(parameter.own);
  const auto steps = from.numbers.find(entry(parameter, "step"));
  nb::dict state;
  if (steps != from.numbers.end() && steps->second > 0) {
    for (const std::string& name : rule_.tensors) {
      const auto found = from.tensors.find(entry(parameter, name));
      if (found == from.tensors.end()) continue;
      state[name.c_str()] = nb::cast(parameter.copied_state(found->second));
    }
    const at::ScalarType dtype = counts_in_f64() ? at::kDouble : at::kFloat;
    for (const std::string& name : rule_.state_numbers)
      state[name.c_str()] =
          nb::cast(at::scalar_tensor(from.numbers.at(entry(parameter, name)), dtype));
  }
  if (nb::len(state) > 0)
    states[own] = state;
  else if (!has_begun_with(states, own))
    states.attr("pop")(own, nb::none());
}

}  // namespace tandem::python
