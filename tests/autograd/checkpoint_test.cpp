// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/checkpoint.hpp"

#include <atomic>

#include <gmock/gmock.h>

#include "tandem/nn/batch_norm.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/activation.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/dropout.hpp"
#include "tandem/ops/linalg.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/parallel/data_parallel.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::autograd {
namespace {

using tandem::testing::thrown_text;
using ::testing::HasSubstr;
using Doubles = std::vector<double>;

constexpr std::int64_t kWidth = 8;

/// What a block can have that a second run could get wrong: random numbers, buffers, an activation.
struct Block : nn::Module {
  nn::Linear in{kWidth, 4 * kWidth, {.dtype = DType::f64}};
  nn::BatchNorm1d norm{4 * kWidth, {.dtype = DType::f64}};
  nn::Dropout drop{0.3};
  nn::Linear out{4 * kWidth, kWidth, {.dtype = DType::f64}};
  Tensor forward(const Tensor& x) { return x + out(drop(tanh(norm(in(x))))); }
  TANDEM_MODULE(Block, in, norm, drop, out)
};

struct Net : nn::Module {
  std::vector<Block> blocks = std::vector<Block>(4);
  nn::Linear head{kWidth, kWidth, {.dtype = DType::f64}};
  bool recompute = false;
  Tensor forward(Tensor x) {
    for (Block& block : blocks)
      x = recompute ? checkpoint(block, x) : block(x);
    return head(x);
  }
  TANDEM_MODULE(Net, blocks, head)
};

Tensor input(std::int64_t rows = 6) {
  manual_seed(3);
  return randn({rows, kWidth}, {.dtype = DType::f64});
}

Doubles values(const std::vector<Tensor>& tensors) {
  Doubles all;
  for (const Tensor& x : tensors) {
    const Doubles own = x.to_doubles();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

Doubles gradients(const nn::Module& net) {
  std::vector<Tensor> grads;
  for (const Tensor& p : net.parameters())
    grads.push_back(p.grad());
  return values(grads);
}

/// Two nets of the same weights, one of which recomputes.
class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() {
    manual_seed(7);
    plain = nn::clone(Net());
    again = nn::clone(plain);
    again.recompute = true;
  }
  Net plain, again;
};

TEST_F(CheckpointTest, GradientsAreTheSameBitForBit) {
  const Tensor x = input();
  Tensor inputs[] = {x.clone().requires_grad_(), x.clone().requires_grad_()};
  Doubles losses;
  int i = 0;
  for (Net* net : {&plain, &again}) {
    for (int step = 0; step < 2; ++step) {  // the second adds to the gradients
      manual_seed(11);
      const Tensor loss = sum(square((*net)(inputs[i])));
      losses.push_back(loss.item());
      loss.backward();
    }
    ++i;
  }
  EXPECT_EQ(losses[0], losses[2]);
  EXPECT_NE(losses[0], 0);
  EXPECT_EQ(gradients(again), gradients(plain));
  EXPECT_EQ(inputs[1].grad().to_doubles(), inputs[0].grad().to_doubles());
  // Statistics were updated once in each forward.
  EXPECT_EQ(again.blocks[0].norm.num_batches_tracked.item(), 2);
  EXPECT_EQ(values(again.buffers()), values(plain.buffers()));
}

TEST_F(CheckpointTest, RandomNumbersGoOnAsWithout) {
  const Tensor x = input();
  Doubles next;
  for (Net* net : {&plain, &again}) {
    manual_seed(11);
    sum((*net)(x)).backward();
    next.push_back(sum((*net)(x)).item());
  }
  EXPECT_EQ(next[0], next[1]);
}

TEST_F(CheckpointTest, PeakOfActivationsIsLower) {
  const Tensor x = input(512);
  LogicalDevice& device = logical_device(x.device());
  std::vector<std::size_t> forward, peak;
  for (Net* net : {&plain, &again}) {
    sum((*net)(x)).backward();  // gradients are there
    const std::size_t before = device.memory_stats().in_use;
    device.reset_peak();
    const Tensor loss = sum((*net)(x));
    forward.push_back(device.memory_stats().in_use - before);
    loss.backward();
    peak.push_back(device.memory_stats().peak - before);
  }
  const std::size_t row = 512 * kWidth * sizeof(double);
  // A block keeps its input alone; without checkpoint, three tensors of four times its width.
  EXPECT_GT(forward[0], 4 * 12 * row);
  EXPECT_LT(forward[1], 4 * 3 * row);
  EXPECT_LT(peak[1], peak[0] * 6 / 10);
}

TEST_F(CheckpointTest, TensorsOfTheSecondRunGoWithTheTape) {
  const Tensor x = input(64);
  LogicalDevice& device = logical_device(x.device());
  sum(again(x)).backward();
  const std::size_t before = device.memory_stats().in_use;
  for (const bool retain : {false, true}) {
    const Tensor loss = sum(again(x));
    backward({loss}, {}, {.retain_graph = retain});
    if (retain) backward({loss});
  }
  EXPECT_EQ(device.memory_stats().in_use, before);
}

TEST_F(CheckpointTest, RetainedGraphGivesTheSameAgain) {
  const Tensor x = input();
  for (Net* net : {&plain, &again}) {
    manual_seed(11);
    const Tensor loss = sum(square((*net)(x)));
    backward({loss}, {}, {.retain_graph = true});
    backward({loss});
  }
  EXPECT_EQ(gradients(again), gradients(plain));
}

TEST_F(CheckpointTest, GradientsOfGradients) {
  const Tensor x = input();
  std::vector<Doubles> results;
  for (Net* net : {&plain, &again}) {
    Tensor leaf = x.clone().requires_grad_();
    manual_seed(11);
    const Tensor loss = sum(square((*net)(leaf)));
    const Tensor dx = grad({loss}, {leaf}, {}, {.create_graph = true}).front();
    sum(square(dx)).backward();
    results.push_back(leaf.grad().to_doubles());
    results.push_back(gradients(*net));
  }
  // Sums of gradients have another order: nodes of the second run are younger.
  for (const std::size_t i : {0U, 1U}) {
    for (std::size_t k = 0; k < results[i].size(); ++k)
      EXPECT_NEAR(results[i + 2][k], results[i][k], 1e-12 * std::max(1.0, std::abs(results[i][k])));
  }
  EXPECT_NE(results[0], Doubles(results[0].size()));
}

TEST_F(CheckpointTest, NothingHappensWithoutATape) {
  const NoGrad off;
  EXPECT_FALSE(again(input()).requires_grad());
}

struct Nested : nn::Module {
  Net inner;
  bool recompute = false;
  Tensor forward(const Tensor& x) {
    const Tensor y = recompute ? checkpoint(inner, x * 2.0) : inner(x * 2.0);
    return y * y;
  }
  TANDEM_MODULE(Nested, inner)
};

TEST_F(CheckpointTest, MayBeNested) {
  const Tensor x = input();
  Nested one, two;
  one.inner = plain;
  two.inner = again;
  two.recompute = true;
  for (Nested* net : {&one, &two}) {
    manual_seed(11);
    sum((*net)(x)).backward();
  }
  EXPECT_EQ(gradients(again), gradients(plain));
  EXPECT_EQ(values(again.buffers()), values(plain.buffers()));
}

/// A weight that is used inside and outside, and captured tensors that are on the tape.
TEST(CheckpointFunctionTest, CapturedAndTiedTensorsGetTheirGradients) {
  std::vector<Doubles> results;
  for (const bool recompute : {false, true}) {
    manual_seed(5);
    Tensor w = randn({kWidth, kWidth}, {.dtype = DType::f64});
    w.requires_grad_();
    const Tensor h = tanh(matmul(input(), w));
    int calls = 0;
    register_hook(w, [&calls](const Tensor&) {
      ++calls;
      return Tensor();
    });
    const auto f = [w, h](const Tensor& x) { return matmul(square(matmul(x, w)), w) * h; };
    const Tensor y = recompute ? checkpoint(f, h) : f(h);
    sum(y * h).backward();
    EXPECT_EQ(calls, 1);
    results.push_back(w.grad().to_doubles());
  }
  EXPECT_EQ(results[1], results[0]);
}

TEST(CheckpointFunctionTest, TakesNestsAndOtherValues) {
  Tensor a = input().requires_grad_(), b = (input() + 1.0).requires_grad_();
  const auto f = [](const std::vector<Tensor>& xs, double factor) {
    return std::pair(square(xs[0]) * xs[1], exp(xs[1]) * factor);
  };
  const auto [first, second] = checkpoint(f, std::vector<Tensor>{a, b}, 3.0);
  sum(first + second).backward();
  const Doubles x = a.to_doubles(), y = b.to_doubles(), dx = a.grad().to_doubles(),
                dy = b.grad().to_doubles();
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(dx[i], 2 * x[i] * y[i], 1e-12);
    EXPECT_NEAR(dy[i], x[i] * x[i] + 3 * std::exp(y[i]), 1e-10);
  }
}

TEST(CheckpointFunctionTest, ChangedInputIsNoticed) {
  Tensor w = input().requires_grad_();
  Tensor x = input();
  const Tensor y = checkpoint([w](const Tensor& z) { return square(z * w); }, x);
  x.add_(x);
  EXPECT_THAT(thrown_text<InvalidArgument>([&] { sum(y).backward(); }),
              HasSubstr("was changed in place"));
}

TEST(CheckpointFunctionTest, ASecondRunThatDiffersIsRefused) {
  Tensor w = input().requires_grad_();
  for (const int kind : {0, 1, 2}) {
    auto calls = std::make_shared<int>(0);
    const Tensor y = checkpoint(
        [calls, kind](const Tensor& x) {
          const Tensor h = square(x * 2.0);
          if (++*calls == 1) return square(h);
          if (kind == 0) return h;
          return kind == 1 ? square(square(h)) : square(sum(h));
        },
        w);
    EXPECT_THAT(thrown_text<InvalidArgument>([&] { sum(y).backward(); }),
                HasSubstr("the same in both"))
        << kind;
  }
}

TEST(CheckpointFunctionTest, WhatTheFirstRunAloneDoesOffTheTapeIsNoDifference) {
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor mean = zeros({2}, {.dtype = DType::f64});
  const auto f = [&](const Tensor& in) {
    if (!context().recomputes) {
      const NoGrad off;
      mean.copy_(in * in * 0.5);
    }
    return exp(in) * in;
  };
  checkpoint(f, x).sum().backward();
  EXPECT_EQ(x.grad().to_doubles(), (exp(x) * (x + 1.0)).to_doubles());
  EXPECT_EQ(mean.to_doubles(), (Doubles{0.5, 2}));
}

TEST(CheckpointFunctionTest, NumbersThatCannotBeDrawnAgainAreRefused) {
  Tensor w = input().requires_grad_();
  EXPECT_THAT(thrown_text<InvalidArgument>(
                  [&] { checkpoint([](const Tensor& x) { return dropout(x, 0.5); }, w); }),
              HasSubstr("one module"));
  // One module called from outside draws as it does alone.
  Block block;
  Block twin = nn::clone(block);
  for (Block* b : {&block, &twin}) {
    manual_seed(11);
    sum(b == &twin ? checkpoint(*b, input()) : (*b)(input())).backward();
  }
  EXPECT_EQ(gradients(twin), gradients(block));
}

TEST_F(CheckpointTest, WorksInReplicas) {
  std::vector<Doubles> results;
  const std::vector<Device> devices = testing::devices(3);
  for (Net* net : {&plain, &again}) {
    optim::AdamW optimizer(net->named_parameters(), {.lr = 0.01});
    parallel::DataParallel dp(*net, {.devices = devices, .gpu0_bsz = 2, .accumulate = 2});
    manual_seed(11);
    for (int step = 0; step < 4; ++step) {
      const Tensor x = randn({13, kWidth}, {.dtype = DType::f64});
      dp.step(
          std::vector<Tensor>{x},
          [](Net& m, const std::vector<Tensor>& part) {
            return WeightedSum{sum(square(m(part[0]))),
                               scalar(static_cast<double>(part[0].size(0)),
                                      {.dtype = DType::f64, .device = part[0].device()})};
          },
          &optimizer);
    }
    results.push_back(values(net->parameters()));
    results.push_back(values(net->buffers()));
  }
  EXPECT_EQ(results[2], results[0]);
  EXPECT_EQ(results[3], results[1]);
}

}  // namespace
}  // namespace tandem::autograd
