// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/ops/activation.hpp"

#include <gtest/gtest.h>

#include "tandem/ops/softmax.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class ActivationOracle : public ::testing::TestWithParam<DType> {};

TEST_P(ActivationOracle, OpsAgreeWithPyTorch) {
  const Ops ops = {
      {"relu", unary(relu)},
      {"tanh", unary(tanh)},
      {"sigmoid", unary(sigmoid)},
      {"gelu",
       [](const Call& c) {
         return out(gelu(c["x"], c.text("approximate") == "tanh" ? Gelu::tanh : Gelu::exact));
       }},
      {"silu", unary(silu)},
      {"leaky_relu",
       [](const Call& c) { return out(leaky_relu(c["x"], c.number("negative_slope"))); }},
      {"elu", [](const Call& c) { return out(elu(c["x"], c.number("alpha"))); }},
      {"softplus",
       [](const Call& c) {
         return out(softplus(c["x"], c.number("beta"), c.number("threshold")));
       }},
      {"logsigmoid", unary(logsigmoid)},
      {"softmax", [](const Call& c) { return out(softmax(c["x"], c.integer("dim"))); }},
      {"log_softmax", [](const Call& c) { return out(log_softmax(c["x"], c.integer("dim"))); }},
  };
  check_family("activation", ops, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         ActivationOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
