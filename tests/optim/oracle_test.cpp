// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Values of PyTorch (tests/oracles/README.md): optimizers over 20 steps, clipping, rates.
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/optim/adadelta.hpp"
#include "tandem/optim/adagrad.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/clip.hpp"
#include "tandem/optim/lamb.hpp"
#include "tandem/optim/lr_scheduler.hpp"
#include "tandem/optim/nadam.hpp"
#include "tandem/optim/radam.hpp"
#include "tandem/optim/rmsprop.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/tensor/factories.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::optim {
namespace {

using nlohmann::json;
using oracles::expect_close;
using oracles::OracleFile;

const std::vector<std::string> kNames{"p0", "p1", "p2"};

/// The metadata's name of an option -> ours.
Options options_of(const json& parameters) {
  Options options;
  for (const auto& [key, value] : parameters.items()) {
    if (key == "op" || key == "groups" || key == "amsgrad") continue;
    if (key == "betas") {
      options["beta1"] = value[0];
      options["beta2"] = value[1];
    } else {
      options[key] =
          value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>();
    }
  }
  return options;
}

template <class Made, class Given>
std::unique_ptr<Optimizer> make_of(const std::vector<GroupSpec>& groups) {
  return std::make_unique<Made>(groups, Given{});
}

/// All optimizers that are compared.
const std::map<std::string, std::unique_ptr<Optimizer> (*)(const std::vector<GroupSpec>&)> kMakers{
    {"Adadelta", make_of<Adadelta, AdadeltaOptions>},
    {"Adagrad", make_of<Adagrad, AdagradOptions>},
    {"Adam", make_of<Adam, AdamOptions>},
    {"AdamW", make_of<AdamW, AdamWOptions>},
    {"LAMB", make_of<LAMB, LAMBOptions>},
    {"NAdam", make_of<NAdam, NAdamOptions>},
    {"RAdam", make_of<RAdam, RAdamOptions>},
    {"RMSprop", make_of<RMSprop, RMSpropOptions>},
    {"SGD", make_of<SGD, SGDOptions>},
};

class OptimizerOracle : public ::testing::TestWithParam<DType> {
 protected:
  OracleFile file{"optim"};

  Tensor load(const std::string& key) const { return file.load(key).to(GetParam()); }
  double tolerance() const { return GetParam() == DType::f64 ? 1e-13 : 5e-6; }

  /// In the order of the recording: first those without options of their own.
  std::unique_ptr<Optimizer> make(const json& parameters,
                                  const std::vector<NamedParameter>& params) const {
    const Options common = options_of(parameters);
    std::vector<NamedParameter> rest;
    std::vector<GroupSpec> own;
    for (const NamedParameter& p : params) {
      if (!parameters["groups"].contains(p.name))
        rest.push_back(p);
      else
        own.push_back({std::vector<NamedParameter>{p}, options_of(parameters["groups"][p.name])});
    }
    std::vector<GroupSpec> groups{{rest, common}};
    for (GroupSpec& group : own) {
      group.options.insert(common.begin(), common.end());
      groups.push_back(std::move(group));
    }
    return kMakers.at(parameters["op"])(groups);
  }
};

TEST_P(OptimizerOracle, TwentyStepsAgreeWithPyTorch) {
  std::set<std::string> unused;
  for (const auto& [op, maker] : kMakers)
    unused.insert(op);
  int compared = 0;
  for (const std::string& name : file.cases()) {
    unused.erase(file.parameters(name)["op"]);
    std::vector<NamedParameter> params;
    for (const std::string& p : kNames)
      params.push_back({p, load(name + ".in." + p).requires_grad_()});
    const auto opt = make(file.parameters(name), params);
    for (int step = 1; step <= 20; ++step) {
      for (const auto& [p, x] : params)
        x.set_grad(load(name + ".in.grads." + p).select(0, step - 1).contiguous());
      opt->step();
      if (step % 5 != 0) continue;
      const std::string prefix = name + ".out.step" + std::to_string(step) + '.';
      for (const auto& [p, x] : params)
        expect_close(x.detach(), load(prefix + p), {tolerance()}, prefix + p);
    }
    const OptimizerState state = opt->state_dict();
    const std::vector<std::string> entries = file.names_after(name + ".out.state.");
    std::size_t numbers = 0;
    for (const std::string& entry : entries) {
      const std::string key = name + ".out.state." + entry;
      if (const auto number = state.numbers.find(entry); number != state.numbers.end()) {
        EXPECT_EQ(number->second, file.load(key).item()) << key;
        ++numbers;
        continue;
      }
      ASSERT_TRUE(state.tensors.contains(entry)) << name << ' ' << entry;
      expect_close(state.tensors.at(entry), load(key), {tolerance()}, name + ' ' + entry);
    }
    EXPECT_EQ(state.tensors.size() + numbers, entries.size()) << name;
    ++compared;
  }
  EXPECT_TRUE(unused.empty()) << "optim.safetensors has no case of " << *unused.begin();
  EXPECT_EQ(compared, 44);
}

TEST_P(OptimizerOracle, ClippingAgreesWithPyTorch) {
  const OracleFile clip("clip");
  int compared = 0;
  for (const std::string& name : clip.cases()) {
    const json parameters = clip.parameters(name);
    const json& type = parameters["norm_type"];
    const double norm_type =
        type.is_string() ? std::numeric_limits<double>::infinity() : type.get<double>();
    std::vector<Tensor> params;
    for (const std::string& p : kNames) {
      const Tensor grad = clip.load(name + ".in.grad." + p).to(GetParam());
      params.push_back(grad.clone().requires_grad_());
      params.back().set_grad(grad);
    }

    const Tensor norm = clip_grad_norm_(params, parameters["max_norm"], {.norm_type = norm_type});

    expect_close(norm, clip.load(name + ".out").to(GetParam()), {tolerance()}, name);
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      const Tensor expected = clip.load(name + ".out.grad." + kNames[i]).to(GetParam());
      expect_close(params[i].grad(), expected, {tolerance()}, name + ' ' + kNames[i]);
    }
    ++compared;
  }
  EXPECT_EQ(compared, 6);
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         OptimizerOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& param) { return std::string(name(param.param)); });

LRSchedule schedule_of(const json& c) {
  if (c["op"] == "StepLR") return StepLR{c["step_size"], c["gamma"]};
  if (c["op"] == "CosineAnnealingLR") return CosineAnnealingLR{c["T_max"], c["eta_min"]};
  if (c["op"] == "LinearLR") return LinearLR{c["start_factor"], c["end_factor"], c["total_iters"]};
  return SequentialLR{{schedule_of(c["first"]), schedule_of(c["second"])}, {c["milestone"]}};
}

TEST(ScheduleOracle, RatesAgreeWithPyTorch) {
  std::ifstream file(oracles::oracle_path("lr.json"));
  const json cases = json::parse(file);
  ASSERT_EQ(cases.size(), 8u);
  for (const auto& [name, c] : cases.items()) {
    const double base = c["base_lr"];
    SGD opt(std::vector<Tensor>{zeros({1}).requires_grad_()}, {.lr = base});
    LRScheduler scheduler(opt, schedule_of(c));
    for (std::size_t t = 0; t < c["lr"].size(); ++t) {
      EXPECT_NEAR(opt.param_groups()[0].lr(), c["lr"][t].get<double>(), 1e-14)
          << name << " step " << t;
      scheduler.step();
    }
  }
}

}  // namespace
}  // namespace tandem::optim
