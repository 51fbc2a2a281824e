// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tandem/nn/activation.hpp"
#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/conv2d.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/flatten.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/pool.hpp"
#include "tandem/nn/sequential.hpp"

#include "oracles/layer_case.hpp"
#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

using nlohmann::json;

class LayerOracle : public ::testing::TestWithParam<DType> {};

/// Two numbers, or one for both.
Pair pair(const json& parameters, const char* name, Pair otherwise) {
  if (!parameters.contains(name)) return otherwise;
  const json& value = parameters.at(name);
  if (value.is_array()) return value.get<Pair>();
  return {value.get<std::int64_t>(), value.get<std::int64_t>()};
}

nn::Linear linear(const json& p, DType dtype) {
  return {p.at("in_features").get<std::int64_t>(),
          p.at("out_features").get<std::int64_t>(),
          {.bias = p.value("bias", true), .dtype = dtype}};
}

nn::Conv2d conv2d(const json& p, DType dtype) {
  return {p.at("in_channels").get<std::int64_t>(),
          p.at("out_channels").get<std::int64_t>(),
          pair(p, "kernel_size", {}),
          {.stride = pair(p, "stride", {1, 1}),
           .padding = pair(p, "padding", {0, 0}),
           .dilation = pair(p, "dilation", {1, 1}),
           .groups = p.value("groups", 1),
           .bias = p.value("bias", true),
           .dtype = dtype}};
}

template <class M>
M batch_norm(const json& p, DType dtype) {
  return M(p.at("num_features").get<std::int64_t>(),
           {.eps = p.value("eps", 1e-5),
            .momentum = p.value("momentum", 0.1),
            .affine = p.value("affine", true),
            .dtype = dtype});
}

Pool2dOptions pool_options(const json& p) {
  const Pair kernel = pair(p, "kernel_size", {});
  return {.stride = pair(p, "stride", kernel), .padding = pair(p, "padding", {0, 0})};
}

nn::MaxPool2d max_pool(const json& p) {
  return nn::MaxPool2d(pair(p, "kernel_size", {}), pool_options(p));
}

nn::AvgPool2d avg_pool(const json& p) {
  const PadCount count = p.value("count_include_pad", true) ? PadCount::include : PadCount::exclude;
  return nn::AvgPool2d(pair(p, "kernel_size", {}), pool_options(p), count);
}

nn::AdaptiveAvgPool2d adaptive(const json& p) {
  return nn::AdaptiveAvgPool2d(pair(p, "output_size", {}));
}

/// The type of a Sequential is that of its layers, so each list of layers has its own code.
void check_sequential(const LayerCase& c) {
  const json& l = c.parameters().at("layers");
  const DType t = c.dtype();
  std::string ops;
  for (const json& layer : l)
    ops += layer.at("op").get<std::string>() + ' ';
  if (ops == "Linear ReLU Linear Tanh Linear ") {
    c.check(
        nn::Sequential(linear(l[0], t), nn::ReLU(), linear(l[2], t), nn::Tanh(), linear(l[4], t)));
  } else if (ops == "Linear BatchNorm1d GELU Linear ") {
    c.check(nn::Sequential(
        linear(l[0], t), batch_norm<nn::BatchNorm1d>(l[1], t), nn::GELU(), linear(l[3], t)));
  } else if (ops == "Conv2d Sigmoid AvgPool2d Flatten Linear ") {
    c.check(nn::Sequential(
        conv2d(l[0], t), nn::Sigmoid(), avg_pool(l[2]), nn::Flatten(), linear(l[4], t)));
  } else if (ops ==
             "Conv2d BatchNorm2d ReLU MaxPool2d Conv2d BatchNorm2d ReLU AdaptiveAvgPool2d Flatten "
             "Linear ") {
    c.check(nn::Sequential(conv2d(l[0], t),
                           batch_norm<nn::BatchNorm2d>(l[1], t),
                           nn::ReLU(),
                           max_pool(l[3]),
                           conv2d(l[4], t),
                           batch_norm<nn::BatchNorm2d>(l[5], t),
                           nn::ReLU(),
                           adaptive(l[7]),
                           nn::Flatten(),
                           linear(l[9], t)));
  } else {
    ADD_FAILURE() << "no Sequential of " << ops;
  }
}

using Check = std::function<void(const LayerCase&, const json&)>;

const std::map<std::string, Check>& checks() {
  static const std::map<std::string, Check> table = {
      {"Linear", [](const LayerCase& c, const json& p) { c.check(linear(p, c.dtype())); }},
      {"Conv2d", [](const LayerCase& c, const json& p) { c.check(conv2d(p, c.dtype())); }},
      {"BatchNorm1d",
       [](const LayerCase& c, const json& p) {
         c.check(batch_norm<nn::BatchNorm1d>(p, c.dtype()));
       }},
      {"BatchNorm2d",
       [](const LayerCase& c, const json& p) {
         c.check(batch_norm<nn::BatchNorm2d>(p, c.dtype()));
       }},
      {"MaxPool2d", [](const LayerCase& c, const json& p) { c.check(max_pool(p)); }},
      {"AvgPool2d", [](const LayerCase& c, const json& p) { c.check(avg_pool(p)); }},
      {"AdaptiveAvgPool2d", [](const LayerCase& c, const json& p) { c.check(adaptive(p)); }},
      {"Flatten",
       [](const LayerCase& c, const json& p) {
         c.check(nn::Flatten(p.value("start_dim", 1), p.value("end_dim", -1)));
       }},
      {"ReLU", [](const LayerCase& c, const json&) { c.check(nn::ReLU()); }},
      {"GELU",
       [](const LayerCase& c, const json& p) {
         c.check(nn::GELU(p.value("approximate", "none") == "tanh" ? Gelu::tanh : Gelu::exact));
       }},
      {"Tanh", [](const LayerCase& c, const json&) { c.check(nn::Tanh()); }},
      {"Sigmoid", [](const LayerCase& c, const json&) { c.check(nn::Sigmoid()); }},
      {"Dropout",
       [](const LayerCase& c, const json& p) { c.check(nn::Dropout(p.at("p").get<double>())); }},
      {"Sequential", [](const LayerCase& c, const json&) { check_sequential(c); }},
  };
  return table;
}

TEST_P(LayerOracle, LayersAgreeWithPyTorch) {
  const OracleFile file("layers");
  std::set<std::string> unused;
  for (const auto& [op, check] : checks())
    unused.insert(op);
  for (const std::string& name : file.cases()) {
    SCOPED_TRACE(name);
    const LayerCase layer(file, name, GetParam());
    const auto op = layer.parameters().at("op").get<std::string>();
    const auto found = checks().find(op);
    if (found == checks().end()) {
      ADD_FAILURE() << "no layer " << op;
      continue;
    }
    unused.erase(op);
    try {
      found->second(layer, layer.parameters());
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what();
    }
  }
  EXPECT_TRUE(unused.empty()) << "layers.safetensors has no case of " << *unused.begin();
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         LayerOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
