// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/ops/loss.hpp"

#include <gtest/gtest.h>

#include "tandem/ops/elementwise.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class LossOracle : public ::testing::TestWithParam<DType> {};

Reduction reduction(const Call& c) {
  const std::string text = c.text("reduction");
  return text == "none" ? Reduction::none : text == "mean" ? Reduction::mean : Reduction::sum;
}

CrossEntropyOptions cross_entropy_options(const Call& c) {
  return {c.parameters.at("ignore_index").get<std::int64_t>(), c["weight"]};
}

Results entropy(const Call& c) {
  const CrossEntropyOptions options = cross_entropy_options(c);
  const Tensor loss = cross_entropy(c["logits"], c["target"], reduction(c), options);
  return {{"out", loss},
          {"out.denominator", cross_entropy_sum(c["logits"], c["target"], options).weight}};
}

TEST_P(LossOracle, OpsAgreeWithPyTorch) {
  const Ops ops = {
      {"cross_entropy", entropy},
      {"mse", [](const Call& c) { return out(mse_loss(c["x"], c["target"], reduction(c))); }},
  };
  check_family("loss", ops, GetParam());
}

TEST_P(LossOracle, SumOverWeightIsPyTorchsMean) {
  const OracleFile file("loss");
  int compared = 0;
  for (const std::string& name : file.cases()) {
    const auto parameters = file.parameters(name);
    if (parameters["reduction"] != "mean" || !parameters["strided"].empty()) continue;
    const bool entropy = parameters["op"] == "cross_entropy";
    const auto load = [&](const char* key) { return file.load(name + ".in." + key); };
    const auto in_type = [&](const char* key) { return load(key).to(GetParam()); };
    WeightedSum parts;
    if (entropy) {
      CrossEntropyOptions options{parameters["ignore_index"].get<std::int64_t>(), {}};
      if (file.has(name + ".in.weight")) options.class_weight = in_type("weight");
      parts = cross_entropy_sum(in_type("logits"), load("target"), options);
    } else {
      parts = mse_loss_sum(in_type("x"), in_type("target"));
    }
    const Tensor expected = file.load(name + ".out").to(GetParam());
    expect_close(parts.sum / parts.weight, expected, tolerance_of(GetParam()), name);
    EXPECT_FALSE(parts.weight.requires_grad()) << name;
    ++compared;
  }
  EXPECT_GT(compared, 8);
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         LossOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
