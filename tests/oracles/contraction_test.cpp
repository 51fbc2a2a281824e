// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tandem/ops/conv.hpp"
#include "tandem/ops/conv1d.hpp"
#include "tandem/ops/conv_transpose2d.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/pool.hpp"

#include "oracles/oracle_file.hpp"

namespace tandem::oracles {
namespace {

class ContractionOracle : public ::testing::TestWithParam<DType> {};

TEST_P(ContractionOracle, ProductsAgreeWithPyTorch) {
  const Ops ops = {
      {"matmul", [](const Call& c) { return out(matmul(c["x"], c["y"])); }},
      {"linear", [](const Call& c) { return out(linear(c["x"], c["weight"], c["bias"])); }},
  };
  check_family("linalg", ops, GetParam());
}

TEST_P(ContractionOracle, ConvolutionAgreesWithPyTorch) {
  const Ops ops = {
      {"conv2d",
       [](const Call& c) {
         const Conv2dOptions options{
             c.pair("stride"), c.pair("padding"), c.pair("dilation"), c.integer("groups")};
         return out(conv2d(c["x"], c["weight"], c["bias"], options));
       }},
      {"conv1d",
       [](const Call& c) {
         const Conv1dOptions options{
             c.integer("stride"), c.integer("padding"), c.integer("dilation"), c.integer("groups")};
         return out(conv1d(c["x"], c["weight"], c["bias"], options));
       }},
      {"conv_transpose2d", [](const Call& c) {
         const ConvTranspose2dOptions options{c.pair("stride"),
                                              c.pair("padding"),
                                              c.pair("output_padding"),
                                              c.pair("dilation"),
                                              c.integer("groups")};
         return out(conv_transpose2d(c["x"], c["weight"], c["bias"], options));
       }}};
  check_family("conv", ops, GetParam());
}

TEST_P(ContractionOracle, PoolingAgreesWithPyTorch) {
  const auto options = [](const Call& c) {
    return Pool2dOptions{c.pair("stride"), c.pair("padding")};
  };
  const Ops ops = {
      {"max_pool2d",
       [options](const Call& c) -> Results {
         const auto [y, indices] =
             max_pool2d_with_indices(c["x"], c.pair("kernel_size"), options(c));
         return {{"out", y}, {"out.indices", indices}};
       }},
      {"avg_pool2d",
       [options](const Call& c) {
         const PadCount count = c.flag("count_include_pad") ? PadCount::include : PadCount::exclude;
         return out(avg_pool2d(c["x"], c.pair("kernel_size"), options(c), count));
       }},
      {"adaptive_avg_pool2d",
       [](const Call& c) { return out(adaptive_avg_pool2d(c["x"], c.pair("output_size"))); }},
  };
  check_family("pool", ops, GetParam());
}

INSTANTIATE_TEST_SUITE_P(DTypes,
                         ContractionOracle,
                         ::testing::Values(DType::f64, DType::f32),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

}  // namespace
}  // namespace tandem::oracles
