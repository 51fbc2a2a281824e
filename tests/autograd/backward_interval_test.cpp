// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/autograd/backward_interval.hpp"

#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/autograd/checkpoint.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/ops/unary.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"

namespace tandem::autograd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct BackwardIntervalTest : ::testing::Test {
  std::vector<std::string> log;

  BackwardInterval logged(const std::string& name) {
    return {[this, name] { log.push_back("begin " + name); },
            [this, name] { log.push_back("end " + name); }};
  }
  /// An op whose backward is logged.
  Tensor op(const std::string& name, const Tensor& x) {
    return record("op", x.detach() * 2.0, {x}, Formula([this, name](const Tensor& dy) {
                    log.push_back(name);
                    return Gradients{dy * 2.0};
                  }));
  }
  static Tensor leaf(Device device = testing::device(0)) {
    Tensor x = tensor({1.0, 1.0}, device);
    x.requires_grad_();
    return x;
  }
};

TEST_F(BackwardIntervalTest, BeginsBeforeItsFirstOpAndEndsAfterItsLast) {
  const Tensor x = leaf();
  const Tensor a = op("a", x);
  const Tensor b = on_backward_interval(logged("unit"), [&] { return op("c", op("b", a)); });
  sum(op("d", b)).backward();
  EXPECT_THAT(log, ElementsAre("d", "begin unit", "c", "b", "end unit", "a"));
}

TEST_F(BackwardIntervalTest, EndsWhenTheLeavesOfItsOpsHaveTheirGradients) {
  const Tensor x = leaf();
  double seen = 0;
  const Tensor y =
      on_backward_interval({.begin = nullptr, .end = [&] { seen = x.grad().to_doubles()[0]; }},
                           [&] { return op("a", x); });
  sum(y).backward();
  EXPECT_EQ(seen, 2);
}

TEST_F(BackwardIntervalTest, MayBeNested) {
  const Tensor x = leaf();
  const Tensor y = on_backward_interval(logged("outer"), [&] {
    const Tensor a = op("a", x);
    const Tensor b = on_backward_interval(logged("inner"), [&] { return op("b", a); });
    return op("c", b);
  });
  sum(y).backward();
  EXPECT_THAT(log,
              ElementsAre("begin outer", "c", "begin inner", "b", "end inner", "a", "end outer"));
}

TEST_F(BackwardIntervalTest, IsToldOfInEachBackwardThatGoesThroughIt) {
  const Tensor x = leaf();
  const Tensor y = on_backward_interval(logged("unit"), [&] { return op("a", x); });
  const Tensor loss = sum(y);
  backward({loss}, {}, {.retain_graph = true});
  loss.backward();
  EXPECT_THAT(log, ElementsAre("begin unit", "a", "end unit", "begin unit", "a", "end unit"));
  log.clear();
  sum(op("b", x)).backward();
  EXPECT_THAT(log, ElementsAre("b"));
}

TEST_F(BackwardIntervalTest, EndsOnceThoughSomeOfItsOpsAreNotInTheBackward) {
  const Tensor x = leaf();
  Tensor unused;
  const Tensor y = on_backward_interval(logged("unit"), [&] {
    unused = op("unused", x);
    return op("a", x);
  });
  sum(y).backward();
  EXPECT_THAT(log, ElementsAre("begin unit", "a", "end unit"));
}

TEST_F(BackwardIntervalTest, HasTheSecondRunOfACheckpointWithinIt) {
  const Tensor x = leaf();
  const auto f = [this](const Tensor& in) {
    log.push_back("run");
    return exp(in * 3.0);
  };
  const Tensor y = on_backward_interval(logged("unit"), [&] { return checkpoint(f, x); });
  log.clear();
  sum(y).backward();
  EXPECT_THAT(log, ElementsAre("begin unit", "run", "end unit"));
}

TEST_F(BackwardIntervalTest, IsToldOfOnceForEachDeviceWithOpsOfIt) {
  const Tensor x = leaf(testing::device(0));
  int begun = 0, ended = 0;
  std::mutex mutex;
  const auto count = [&](int& n) {
    return [&] {
      const std::scoped_lock lock(mutex);
      ++n;
    };
  };
  const Tensor y = on_backward_interval({count(begun), count(ended)},
                                        [&] { return (x * 2.0).to(testing::device(1)) * 2.0; });
  sum(y).backward();
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(x.grad().to_doubles()[0], 4);
}

TEST_F(BackwardIntervalTest, DoesNotHoldOpsOfABackward) {
  const Tensor x = leaf();
  const Tensor y = on_backward_interval(logged("unit"), [&] { return x * x; });
  const Tensor dx = grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
  log.clear();
  // The backward of 2 x was recorded in the interval's backward, and goes through none of its ops.
  grad({sum(dx)}, {x});
  EXPECT_THAT(log, IsEmpty());
}

}  // namespace
}  // namespace tandem::autograd
