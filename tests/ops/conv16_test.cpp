// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of types of 16 bits: those of f32 on the same numbers, summed in f32 and rounded
// once.

#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tandem/config.hpp"
#include "tandem/ops/autocast.hpp"
#include "tandem/ops/conv.hpp"
#include "tandem/ops/conv1d.hpp"
#include "tandem/ops/conv_transpose2d.hpp"
#include "tandem/runtime/context.hpp"

#include "devices.hpp"
#include "ops/half_step.hpp"
#include "ops/near.hpp"

namespace tandem {
namespace {

using ::testing::Combine;
using testing::leaf;
using testing::near;
using ::testing::Values;

struct Conv16Case {
  const char* name;
  Shape x, weight;
  Conv2dOptions options;
  friend std::ostream& operator<<(std::ostream& s, const Conv16Case& c) { return s << c.name; }
};

// Channels that fill vectors and such that do not; what oneDNN has no fast kernel for among them.
const Conv16Case kCases[] = {
    {"padded", {3, 32, 9, 8}, {48, 32, 3, 3}, {.padding = {1, 1}}},
    {"image", {2, 3, 17, 16}, {16, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
    {"pointwise", {2, 64, 6, 5}, {16, 64, 1, 1}, {}},
    {"strided_pointwise", {2, 5, 6, 6}, {7, 5, 1, 1}, {.stride = {2, 2}}},
    {"dilated", {2, 16, 9, 9}, {16, 16, 3, 3}, {.padding = {2, 2}, .dilation = {2, 2}}},
    {"groups", {2, 6, 7, 7}, {8, 3, 3, 2}, {.groups = 2}},
    {"depthwise", {2, 16, 8, 8}, {16, 1, 3, 3}, {.padding = {1, 1}, .groups = 16}},
    {"no_rows", {0, 4, 5, 5}, {4, 4, 3, 3}, {}},
};

class Conv16Test
    : public ::testing::TestWithParam<std::tuple<Conv16Case, DType, MemoryFormat, KernelPath>> {};

TEST_P(Conv16Test, IsThatOfF32Rounded) {
  const auto& [c, dtype, format, path] = GetParam();
  const ContextScope scope([path = path](Context& context) {
    context.path = path;
    context.threads = 3;
  });
  const std::vector<Tensor> narrow{randn(c.x).to(dtype).contiguous(format).requires_grad_(),
                                   randn(c.weight).to(dtype).requires_grad_(),
                                   randn({c.weight[0]}).to(dtype).requires_grad_()};
  std::vector<Tensor> wide;
  for (const Tensor& t : narrow)
    wide.push_back(t.detach().to(DType::f32).requires_grad_());
  const auto f = [&c = c](const std::vector<Tensor>& in) {
    return conv2d(in[0], in[1], in[2], c.options);
  };
  const Tensor y = f(narrow), y32 = f(wide);
  EXPECT_EQ(y.dtype(), dtype);
  if (y.numel() > 0) {
    EXPECT_TRUE(y.is_contiguous(format));
  }
  // cuDNN rounds the sum before the bias is added, which rounds it again.
  const double roundings = testing::on_gpus() && has_cudnn ? 2 : 1;
  EXPECT_TRUE(near(y, y32, roundings * testing::half_step(dtype)));
  const Tensor dy = randn(y.shape()).to(dtype);
  const auto got = autograd::grad({y}, narrow, {dy}),
             wanted = autograd::grad({y32}, wide, {dy.to(DType::f32)});
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].dtype(), dtype);
    EXPECT_TRUE(near(got[i], wanted[i], testing::half_step(dtype))) << "input " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases,
                         Conv16Test,
                         Combine(::testing::ValuesIn(kCases),
                                 Values(DType::bf16, DType::f16),
                                 Values(MemoryFormat::contiguous, MemoryFormat::channels_last),
                                 Values(KernelPath::native, KernelPath::fastest)));

TEST(Conv16, OtherFormsAndTheirGradients) {
  for (const DType t : {DType::bf16, DType::f16}) {
    const Tensor x = randn({2, 4, 5, 6}).to(t).requires_grad_(),
                 w = randn({4, 3, 3, 3}).to(t).requires_grad_();
    const ConvTranspose2dOptions options{.stride = {2, 2}, .padding = {1, 1}};
    const Tensor y = conv_transpose2d(x, w, {}, options);
    const Tensor x32 = x.detach().to(DType::f32).requires_grad_(),
                 w32 = w.detach().to(DType::f32).requires_grad_();
    const Tensor y32 = conv_transpose2d(x32, w32, {}, options);
    EXPECT_EQ(y.dtype(), t);
    EXPECT_TRUE(near(y, y32, testing::half_step(t)));
    const auto got = autograd::grad({y.sum()}, {x, w}),
               wanted = autograd::grad({y32.sum()}, {x32, w32});
    EXPECT_TRUE(near(got[0], wanted[0], testing::half_step(t)));
    EXPECT_TRUE(near(got[1], wanted[1], testing::half_step(t)));
  }
}

TEST(Conv16, AutocastNarrowsAllForms) {
  const Autocast mixed(DType::bf16);
  const Tensor x = leaf({2, 4, 6, 6}, DType::f32), w = leaf({4, 4, 3, 3}, DType::f32);
  const Tensor b = leaf({4}, DType::f32);
  for (const Tensor& y :
       {conv2d(x, w, b), conv_transpose2d(x, w, b), conv1d(x.select(2, 0), w.select(2, 0), b)}) {
    EXPECT_EQ(y.dtype(), DType::bf16);
    for (const Tensor& g : autograd::grad({y.sum()}, {x, w, b}, {}, {.retain_graph = true}))
      EXPECT_EQ(g.dtype(), DType::f32);
  }
}

}  // namespace
}  // namespace tandem
