// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include "tandem/ops/attention.hpp"

#include <gtest/gtest.h>

#include "tandem/ops/embedding.hpp"
#include "tandem/ops/layer_norm.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class AttentionOracle : public ::testing::TestWithParam<DType> {};

Shape shape_of(const Call& c, const char* name) {
  Shape shape;
  for (const auto& n : c.parameters.at(name))
    shape.push_back(n.get<std::int64_t>());
  return shape;
}

template <class T>
std::optional<T> optional_of(const Call& c, const char* name) {
  const auto& value = c.parameters.at(name);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

TEST_P(AttentionOracle, OpsAgreeWithPyTorch) {
  const Ops ops{
      {"layer_norm",
       [](const Call& c) {
         return out(layer_norm(
             c["x"], shape_of(c, "normalized_shape"), c["weight"], c["bias"], c.number("eps")));
       }},
      {"group_norm",
       [](const Call& c) {
         return out(
             group_norm(c["x"], c.integer("num_groups"), c["weight"], c["bias"], c.number("eps")));
       }},
      {"embedding",
       [](const Call& c) {
         return out(
             embedding(c["index"], c["weight"], optional_of<std::int64_t>(c, "padding_idx")));
       }},
      {"scaled_dot_product_attention",
       [](const Call& c) {
         return out(scaled_dot_product_attention(
             c["q"],
             c["k"],
             c["v"],
             c["mask"],
             {.causal = c.flag("causal"), .scale = optional_of<double>(c, "scale")}));
       }},
  };
  check_family("attention", ops, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         AttentionOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
