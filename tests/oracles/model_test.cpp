// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"

#include "oracles/layer_case.hpp"

namespace tandem::oracles {
namespace {

using nlohmann::json;

class ModelOracle : public ::testing::TestWithParam<DType> {};

void check_resnet(const LayerCase& c) {
  using namespace nn::models;
  const json& p = c.parameters();
  c.check(
      ResNet(p.at("bottleneck").get<bool>() ? ResNetBlockKind::bottleneck : ResNetBlockKind::basic,
             p.at("blocks").get<std::array<std::int64_t, 4>>(),
             {.classes = p.at("classes").get<std::int64_t>(),
              .width = p.at("width").get<std::int64_t>(),
              .groups = p.value("groups", std::int64_t{1}),
              .width_per_group = p.value("width_per_group", std::int64_t{64}),
              .stem = p.at("stem") == "cifar" ? ResNetStem::cifar : ResNetStem::imagenet,
              .dtype = c.dtype()}));
}

void check_vgg16(const LayerCase& c) {
  using namespace nn::models;
  const json& p = c.parameters();
  c.check(Vgg16({.classes = p.at("classes").get<std::int64_t>(),
                 .width = p.at("width").get<std::int64_t>(),
                 .hidden = p.at("hidden").get<std::int64_t>(),
                 .pooled = p.at("pooled").get<std::int64_t>(),
                 .dropout = 0,
                 .norm = p.at("norm").get<bool>() ? VggNorm::batch : VggNorm::none,
                 .dtype = c.dtype()}));
}

/// Rounding adds up over layers, and batch norm of few values divides by small deviations.
Tolerance tolerance(DType dtype) {
  return {(dtype == DType::f32 ? 10 : 1) * tolerance_of(dtype).relative};
}

TEST_P(ModelOracle, ModelsAgreeWithPyTorch) {
  const OracleFile file("models");
  for (const std::string& name : file.cases()) {
    SCOPED_TRACE(name);
    const LayerCase model(file, name, GetParam(), tolerance(GetParam()));
    const std::string op = model.parameters().at("op").get<std::string>();
    if (op == "ResNet") {
      check_resnet(model);
    } else if (op == "Vgg16") {
      check_vgg16(model);
    } else {
      ADD_FAILURE() << "no model " << op;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         ModelOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
