// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/ops/loss.hpp"

#include <gtest/gtest.h>

#include "tandem/ops/arithmetic.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class LossOracle : public ::testing::TestWithParam<DType> {};

Reduction reduction(const Call& c) {
  const std::string text = c.text("reduction");
  if (text == "batchmean") return Reduction::batch_mean;
  return text == "none" ? Reduction::none : text == "mean" ? Reduction::mean : Reduction::sum;
}

CrossEntropyOptions cross_entropy_options(const Call& c) {
  return {c.parameters.at("ignore_index").get<std::int64_t>(),
          c["weight"],
          c.parameters.value("label_smoothing", 0.0)};
}

Results entropy(const Call& c) {
  const CrossEntropyOptions options = cross_entropy_options(c);
  const Tensor loss = cross_entropy(c["logits"], c["target"], reduction(c), options);
  return {{"out", loss},
          {"out.denominator", cross_entropy_sum(c["logits"], c["target"], options).weight}};
}

Results likelihood(const Call& c) {
  const NllOptions options{c.parameters.at("ignore_index").get<std::int64_t>(), c["weight"]};
  return {{"out", nll_loss(c["logs"], c["target"], reduction(c), options)},
          {"out.denominator", nll_loss_sum(c["logs"], c["target"], options).weight}};
}

/// A loss of two tensors; its mean is sum over weight.
template <class Loss, class Sum>
Op pair(Loss loss, Sum sum) {
  return [=](const Call& c) {
    const Tensor y = loss(c);
    if (reduction(c) == Reduction::mean || reduction(c) == Reduction::batch_mean) {
      const WeightedSum parts = sum(c);
      expect_close(parts.sum / parts.weight, y, tolerance_of(y.dtype()), "sum over weight");
      EXPECT_FALSE(parts.weight.requires_grad());
    }
    return out(y);
  };
}

KlTarget kl_target(const Call& c) {
  return c.flag("log_target") ? KlTarget::log_probabilities : KlTarget::probabilities;
}

Ops pair_losses() {
  return {
      {"mse",
       pair([](const Call& c) { return mse_loss(c["x"], c["target"], reduction(c)); },
            [](const Call& c) { return mse_loss_sum(c["x"], c["target"]); })},
      {"l1",
       pair([](const Call& c) { return l1_loss(c["x"], c["target"], reduction(c)); },
            [](const Call& c) { return l1_loss_sum(c["x"], c["target"]); })},
      {"smooth_l1",
       pair(
           [](const Call& c) {
             return smooth_l1_loss(c["x"], c["target"], reduction(c), c.number("beta"));
           },
           [](const Call& c) {
             return smooth_l1_loss_sum(c["x"], c["target"], c.number("beta"));
           })},
      {"huber",
       pair(
           [](const Call& c) {
             return huber_loss(c["x"], c["target"], reduction(c), c.number("delta"));
           },
           [](const Call& c) { return huber_loss_sum(c["x"], c["target"], c.number("delta")); })},
      {"bce",
       pair(
           [](const Call& c) {
             return bce_with_logits(
                 c["x"], c["target"], reduction(c), {c["weight"], c["pos_weight"]});
           },
           [](const Call& c) {
             return bce_with_logits_sum(c["x"], c["target"], {c["weight"], c["pos_weight"]});
           })},
      {"kl_div",
       pair([](const Call& c) { return kl_div(c["x"], c["target"], reduction(c), kl_target(c)); },
            [](const Call& c) {
              return kl_div_sum(c["x"], c["target"], reduction(c), kl_target(c));
            })},
  };
}

TEST_P(LossOracle, OpsAgreeWithPyTorch) {
  Ops ops = pair_losses();
  ops["cross_entropy"] = entropy;
  ops["nll"] = likelihood;
  check_family("loss", ops, GetParam());
}

TEST_P(LossOracle, SumOverWeightIsPyTorchsMean) {
  const OracleFile file("loss");
  int compared = 0;
  for (const std::string& name : file.cases()) {
    const auto parameters = file.parameters(name);
    if (parameters["reduction"] != "mean" || !parameters["strided"].empty()) continue;
    const bool entropy = parameters["op"] == "cross_entropy";
    if (!entropy && parameters["op"] != "mse") continue;
    const auto load = [&](const char* key) { return file.load(name + ".in." + key); };
    const auto in_type = [&](const char* key) { return load(key).to(GetParam()); };
    WeightedSum parts;
    if (entropy) {
      CrossEntropyOptions options{parameters["ignore_index"].get<std::int64_t>(),
                                  {},
                                  parameters.value("label_smoothing", 0.0)};
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
