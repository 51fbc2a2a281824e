// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tandem/tensor/tensor.hpp"

namespace tandem::oracle {

/// What PyTorch computed for one call (tests/oracles/README.md).
struct Case {
  std::string name;
  std::string op;
  nlohmann::json parameters;  ///< of the call; null values stand for None
  std::vector<std::string> input_names;
  std::map<std::string, Tensor> tensors;  ///< by key without the case's name: "in.x", "out", ...
};

/// All cases of tests/oracles/<family>.safetensors.
std::vector<Case> load(const std::string& family);

/// Calls tandem's op with the parameters of a case.
using Op =
    std::function<Tensor(const nlohmann::json& parameters, const std::vector<Tensor>& inputs)>;

/// Compares outputs and gradients of every case of `family` with PyTorch's: in f64, in f32, and the
/// gradients once by the fused kernels and once by the formulas.
///
/// @param ops  by PyTorch's name; every name in the file must be here.
void expect_family(const std::string& family, const std::map<std::string, Op>& ops);

/// Failures name the element. NaN equals NaN.
void expect_close(const Tensor& actual,
                  const Tensor& expected,
                  double tolerance,
                  const std::string& what);

/// A JSON array of numbers, or nothing for null.
Dims dims_of(const nlohmann::json& value);

}  // namespace tandem::oracle
