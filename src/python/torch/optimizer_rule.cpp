// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "python/torch/optimizer_rule.hpp"

#include "tandem/core/error.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"

namespace tandem::python {
namespace {

template <class Optimizer, class Options>
std::unique_ptr<optim::Optimizer> make(const std::vector<optim::GroupSpec>& groups) {
  return std::make_unique<Optimizer>(groups, Options{});
}

const std::vector<OptimizerRule>& rules() {
  using namespace optim;
  static const std::vector<OptimizerRule> all{
      {"SGD",
       {"lr", "momentum", "dampening", "weight_decay", "nesterov"},
       false,
       {"maximize"},
       {"momentum_buffer"},
       false,
       make<SGD, SGDOptions>},
      {"Adam",
       {"lr", "eps", "weight_decay"},
       true,
       {"amsgrad", "maximize", "decoupled_weight_decay"},
       {"exp_avg", "exp_avg_sq"},
       true,
       make<Adam, AdamOptions>},
      {"AdamW",
       {"lr", "eps", "weight_decay"},
       true,
       {"amsgrad", "maximize"},
       {"exp_avg", "exp_avg_sq"},
       true,
       make<AdamW, AdamWOptions>},
      {"RMSprop",
       {"lr", "alpha", "eps", "weight_decay", "momentum", "centered"},
       false,
       {"maximize"},
       {"square_avg", "momentum_buffer", "grad_avg"},
       true,
       make<RMSprop, RMSpropOptions>},
      {"Adagrad",
       {"lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"},
       false,
       {"maximize"},
       {"sum"},
       true,
       make<Adagrad, AdagradOptions>}};
  return all;
}

}  // namespace

const OptimizerRule& OptimizerRule::of(const std::string& name) {
  std::string known;
  for (const OptimizerRule& rule : rules()) {
    if (rule.name == name) return rule;
    known += (known.empty() ? "" : ", ") + rule.name;
  }
  throw InvalidArgument("Optimizer: " + name +
                        " does not treat each element alike, so devices cannot share its update; "
                        "pass PyTorch's own optimizer to step, which updates on the first device. "
                        "Devices share " +
                        known);
}

}  // namespace tandem::python
