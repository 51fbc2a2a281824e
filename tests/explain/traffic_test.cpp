// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Bytes between devices, by logical source and destination, are those that a mode promises.

#include <map>
#include <numeric>

#include <gmock/gmock.h>

#include "tandem/autograd/autograd.hpp"
#include "tandem/nn/parameter.hpp"
#include "tandem/ops/arithmetic.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/step_record.hpp"
#include "tandem/runtime/allocator.hpp"

#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using Bytes = std::map<std::pair<int, int>, std::size_t>;  // by (source, destination)

enum class LossPlace { on_the_outputs, in_the_replica };

/// Devices by their rows.
struct Case {
  Mode mode;
  std::vector<std::int64_t> rows;

  int devices() const { return static_cast<int>(rows.size()); }
  std::int64_t batch() const { return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}); }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Mode mode : kModes) {
    if (mode == Mode::sharded_gradients || mode == Mode::fully_sharded)
      continue;  // units are padded; see tests/parallel/fully_sharded_test.cpp
    for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{5, 4},
                                                  {1, 8},
                                                  {4, 3, 3},
                                                  {2, 9, 0},
                                                  {3, 3, 3, 3},
                                                  {1, 7, 2, 4},
                                                  {2, 2, 2, 2, 2, 1, 1, 1},
                                                  {9, 1, 2, 3, 4, 5, 6, 7}})
      all.push_back({mode, rows});
  }
  return all;
}

void PrintTo(const Case& c, std::ostream* s) {
  *s << name(c.mode) << ' ' << ::testing::PrintToString(c.rows);
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  std::string text = name(info.param.mode);
  for (const std::int64_t n : info.param.rows)
    text.append("_").append(std::to_string(n));
  return text;
}

/// Bytes of what a step moves. An arena's tensors begin at multiples of Allocator::kAlignment, and
/// a message takes all up to the next one.
struct Sizes {
  std::size_t parameters = 0;
  std::size_t gradients = 0;
  std::size_t buffers = 0;
  std::size_t input_row = 0;
  std::size_t output_row = 0;

  static std::size_t place(const Tensor& x) {
    constexpr std::size_t kAlign = Allocator::kAlignment;
    return (x.nbytes() + kAlign - 1) / kAlign * kAlign;
  }

  Sizes(nn::Module& net, std::size_t input, std::size_t output)
      : input_row(input), output_row(output) {
    for (const Tensor& p : net.parameters())
      parameters += place(p);
    gradients = parameters;
    for (const Tensor& b : net.buffers())
      buffers += place(b);
  }
};

/// What happens around the step that is measured.
struct Step {
  LossPlace loss;
  bool updates;       // it ends with an update
  bool after_update;  // so did the one before
};

/// f_k X from device 0 to device k, and f_k Y or {weight} both ways; 0: it has no part in that.
Bytes rows_table(const Case& c, const Sizes& s, LossPlace loss) {
  Bytes bytes;
  for (int k = 1; k < c.devices(); ++k) {
    const auto rows = static_cast<std::size_t>(c.rows[static_cast<std::size_t>(k)]);
    if (rows == 0) continue;
    const bool gathered = loss == LossPlace::on_the_outputs;
    const std::size_t output = gathered ? rows * s.output_row : sizeof(double);
    bytes[{0, k}] = rows * s.input_row + output;
    bytes[{k, 0}] = output;
  }
  return bytes;
}

/// Modes classic and server: the star around device 0.
Bytes star_table(const Case& c, const Sizes& s, const Step& step) {
  Bytes bytes = rows_table(c, s, step.loss);
  const bool parameters = c.mode == Mode::classic || step.after_update;
  for (auto& [link, nbytes] : bytes) {
    const bool outward = link.first == 0;
    // Buffers that no replica has written to, or all alike, go out once.
    const std::size_t buffers = c.mode == Mode::classic ? s.buffers : 0;
    nbytes += outward ? buffers + (parameters ? s.parameters : 0) : s.gradients;
  }
  return bytes;
}

/// Each device gets its share of the gradients from each other, and gives to each, in mode sharded,
/// its share of the parameters, in mode ddp of the gradients. Those without rows too.
Bytes shares_table(const Case& c, const Sizes& s, const Step& step) {
  Bytes bytes = rows_table(c, s, step.loss);
  const std::size_t n = c.rows.size();
  const auto share = [n](std::size_t whole, std::size_t r) {
    const std::size_t count = whole / sizeof(double);
    return (count / n + (r < count % n ? 1 : 0)) * sizeof(double);
  };
  for (std::size_t from = 0; from < n; ++from) {
    for (std::size_t to = 0; to < n; ++to) {
      if (from == to) continue;
      bytes[{static_cast<int>(from), static_cast<int>(to)}] +=
          share(s.gradients, to) + (c.mode == Mode::ddp ? share(s.gradients, from)
                                    : step.updates      ? share(s.parameters, from)
                                                        : 0);
    }
  }
  return bytes;
}

Bytes table(const Case& c, const Sizes& s, const Step& step) {
  const bool star = c.mode == Mode::classic || c.mode == Mode::server;
  return star ? star_table(c, s, step) : shares_table(c, s, step);
}

template <class F>
Bytes bytes_of(F step) {
  Bytes bytes;
  for (const auto& [link, traffic] : profile::traffic(profile::record(step)))
    bytes[{link.source.index, link.destination.index}] = traffic.nbytes;
  return bytes;
}

constexpr std::size_t kInputRow = 12 * sizeof(double), kOutputRow = 5 * sizeof(double);
constexpr std::size_t kLabel = sizeof(std::int64_t);

/// The same with a buffer, which takes rows of any number.
struct ScaledMlp : nn::Module {
  Mlp net;
  nn::BufferTensor scale = full({5}, 2, {.dtype = DType::f64});
  Tensor forward(const Tensor& x) { return net(x) * scale; }
  TANDEM_MODULE(ScaledMlp, net, scale)
};

class TrafficTest : public ::testing::TestWithParam<Case> {
 protected:
  template <class Net>
  DataParallel<Net> wrap(Net& net) {
    return DataParallel<Net>(net,
                             {.devices = devices(GetParam().devices()),
                              .mode = GetParam().mode,
                              .chunk_sizes = GetParam().rows});
  }
  Batch batch() const { return make_batch(GetParam().batch(), 1, DType::f64, false); }
};

TEST_P(TrafficTest, OfAStepWithTheLossOnTheOutputs) {
  Mlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  auto dp = wrap(net);
  const Batch b = batch();
  const auto step = [&] {
    optimizer.zero_grad();
    cross_entropy(dp(b.x), b.labels).backward();
    optimizer.step();
  };
  step();
  const Bytes expected =
      table(GetParam(), Sizes(net, kInputRow, kOutputRow), {LossPlace::on_the_outputs, true, true});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(bytes_of(step), expected) << "step " << i;
}

TEST_P(TrafficTest, OfAStepWithTheLossInTheReplica) {
  Mlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  auto dp = wrap(net);
  const Batch b = batch();
  const Sizes sizes(net, kInputRow + kLabel, kOutputRow);
  const auto expected = [&](bool updates, bool after_update) {
    return table(GetParam(), sizes, {LossPlace::in_the_replica, updates, after_update});
  };
  const auto update = [&] { dp.step(b, kLoss, &optimizer); };
  const auto gradients = [&] {
    optimizer.zero_grad();
    dp.step(b, kLoss);
  };
  update();
  EXPECT_EQ(bytes_of(update), expected(true, true));
  EXPECT_EQ(bytes_of(gradients), expected(false, true));
  EXPECT_EQ(bytes_of(gradients), expected(false, false)) << "nothing has changed";
  EXPECT_EQ(bytes_of(update), expected(true, false));
}

TEST_P(TrafficTest, OfAStepOfAModuleWithBuffers) {
  ScaledMlp net;
  optim::SGD optimizer(net.named_parameters(), {.lr = 0.1});
  auto dp = wrap(net);
  const Batch b = batch();
  const auto step = [&] { dp.step(b, kLoss, &optimizer); };
  step();
  const Bytes expected = table(GetParam(),
                               Sizes(net, kInputRow + kLabel, kOutputRow),
                               {LossPlace::in_the_replica, true, true});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(bytes_of(step), expected) << "step " << i;
}

TEST_P(TrafficTest, OfAnEvaluation) {
  Mlp net;
  auto dp = wrap(net);
  dp.eval();
  const Batch b = batch();
  const autograd::NoGrad off;
  dp(b.x);
  const std::size_t parameters = GetParam().mode == Mode::classic ? Sizes(net, 0, 0).parameters : 0;
  Bytes expected;
  for (int k = 1; k < GetParam().devices(); ++k) {
    const auto rows = static_cast<std::size_t>(GetParam().rows[static_cast<std::size_t>(k)]);
    if (rows == 0) continue;
    expected[{0, k}] = rows * kInputRow + parameters;
    expected[{k, 0}] = rows * kOutputRow;
  }
  EXPECT_EQ(bytes_of([&] { dp(b.x); }), expected) << "rows and outputs alone, but in classic";
}

INSTANTIATE_TEST_SUITE_P(Modes, TrafficTest, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace tandem::parallel::test
