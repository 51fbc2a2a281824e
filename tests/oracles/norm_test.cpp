// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/batch_norm.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class NormOracle : public ::testing::TestWithParam<DType> {};

Results normalise(const Call& c) {
  const Tensor mean = c["running_mean"];
  const Tensor var = c["running_var"];
  if (!c.flag("training")) {
    const Tensor y = batch_norm_eval(c["x"], mean, var, c["weight"], c["bias"], c.number("eps"));
    return {{"out", y}, {"out.running_mean", mean}, {"out.running_var", var}};
  }
  const auto [y, batch] = batch_norm(c["x"], c["weight"], c["bias"], c.number("eps"));
  if (!mean.defined()) return out(y);
  // the running statistics are the module's to keep; these are PyTorch's rules for them
  const double m = c.number("momentum");
  const double unbiased = static_cast<double>(batch.count) / static_cast<double>(batch.count - 1);
  return {{"out", y},
          {"out.running_mean", (1 - m) * mean + m * batch.mean},
          {"out.running_var", (1 - m) * var + (m * unbiased) * batch.var}};
}

TEST_P(NormOracle, BatchNormAgreesWithPyTorch) {
  check_family("norm", {{"batch_norm", normalise}}, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         NormOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
