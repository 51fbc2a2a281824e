// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/optimizer_rule.hpp"

#include <algorithm>
#include <iterator>

#include <c10/core/DefaultDtype.h>
#include <c10/util/typeid.h>

#include "tandem/core/error.hpp"
#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"

namespace tandem::python {
namespace {

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<optim::GroupSpec>& groups) {
  return std::make_unique<Optimizer>(groups, Options{});
}

std::unique_ptr<optim::Optimizer> make_nadam(const std::vector<optim::GroupSpec>& groups) {
  return std::make_unique<optim::NAdam>(
      groups, optim::NAdamOptions{.product_dtype = counts_in_f64() ? DType::f64 : DType::f32});
}

std::vector<OptimizerRule> rules_of_adam() {
  using namespace optim;
  return {{"Adam",
           {"lr", "eps", "weight_decay"},
           true,
           {"amsgrad", "maximize", "decoupled_weight_decay"},
           {"exp_avg", "exp_avg_sq"},
           {"step"},
           make<Adam, AdamOptions>},
          {"AdamW",
           {"lr", "eps", "weight_decay"},
           true,
           {"amsgrad", "maximize"},
           {"exp_avg", "exp_avg_sq"},
           {"step"},
           make<AdamW, AdamWOptions>},
          {"NAdam",
           {"lr", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay"},
           true,
           {"maximize"},
           {"exp_avg", "exp_avg_sq"},
           {"step", "mu_product"},
           make_nadam},
          {"RAdam",
           {"lr", "eps", "weight_decay", "decoupled_weight_decay"},
           true,
           {"maximize"},
           {"exp_avg", "exp_avg_sq"},
           {"step"},
           make<RAdam, RAdamOptions>}};
}

std::vector<OptimizerRule> other_rules() {
  using namespace optim;
  return {{"SGD",
           {"lr", "momentum", "dampening", "weight_decay", "nesterov"},
           false,
           {"maximize"},
           {"momentum_buffer"},
           {},
           make<SGD, SGDOptions>},
          {"RMSprop",
           {"lr", "alpha", "eps", "weight_decay", "momentum", "centered"},
           false,
           {"maximize"},
           {"square_avg", "momentum_buffer", "grad_avg"},
           {"step"},
           make<RMSprop, RMSpropOptions>},
          {"Adagrad",
           {"lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"},
           false,
           {"maximize"},
           {"sum"},
           {"step"},
           make<Adagrad, AdagradOptions>},
          {"Adadelta",
           {"lr", "rho", "eps", "weight_decay"},
           false,
           {"maximize"},
           {"square_avg", "acc_delta"},
           {"step"},
           make<Adadelta, AdadeltaOptions>}};
}

const std::vector<OptimizerRule>& rules() {
  static const std::vector<OptimizerRule> all = [] {
    std::vector<OptimizerRule> merged = rules_of_adam();
    std::ranges::move(other_rules(), std::back_inserter(merged));
    return merged;
  }();
  return all;
}

}  // namespace

bool counts_in_f64() {
  return c10::get_default_dtype() == caffe2::TypeMeta::Make<double>();
}

const OptimizerRule& OptimizerRule::of(const std::string& name) {
  std::string known;
  for (const OptimizerRule& rule : rules()) {
    if (rule.name == name) return rule;
    known += (known.empty() ? "" : ", ") + rule.name;
  }
  throw InvalidArgument("Optimizer: " + name +
                        " does not treat each element alike, so devices cannot share its update; "
                        "use PyTorch's own class: call loss(model(x), y).backward() and then its "
                        "step(), or in the closure that its step takes. Devices share " +
                        known);
}

}  // namespace tandem::python
