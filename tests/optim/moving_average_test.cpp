// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/optim/moving_average.hpp"

#include <gmock/gmock.h>

#include "tandem/optim/arena.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "thrown_text.hpp"

namespace tandem::optim {
namespace {

using tandem::testing::thrown_text;
using ::testing::Each;
using ::testing::HasSubstr;

std::vector<NamedParameter> parameters(DType t = DType::f64) {
  manual_seed(3);
  std::vector<NamedParameter> params;
  for (const auto& [name, shape] :
       std::vector<std::pair<const char*, Shape>>{{"a", {3, 5}}, {"b", {}}, {"c", {41}}})
    params.push_back({name, randn(shape, {.dtype = t}).requires_grad_()});
  return params;
}

void move(const std::vector<NamedParameter>& params, int step) {
  for (const NamedParameter& p : params) {
    const Tensor x = p.tensor.detach();
    Tensor(x).add_(full(x.shape(), 0.1 * step - 0.3, {.dtype = x.dtype(), .device = x.device()}));
  }
}

// The oracle: each element's average in a loop.
TEST(MovingAverage, IsTheWeightedMeanOfWhatTheParametersWere) {
  const auto params = parameters();
  ExponentialMovingAverage average(params, {.decay = 0.9});
  std::vector<std::vector<double>> expected;
  for (int step = 0; step < 5; ++step) {
    move(params, step);
    average.update();
    for (std::size_t i = 0; i < params.size(); ++i) {
      const std::vector<double> now = params[i].tensor.to_doubles();
      if (step == 0) expected.push_back(now);
      for (std::size_t k = 0; k < now.size(); ++k)
        expected[i][k] = 0.9 * expected[i][k] + 0.1 * now[k];
    }
  }
  for (std::size_t i = 0; i < params.size(); ++i) {
    const std::vector<double> actual = average.averages()[i].tensor.to_doubles();
    for (std::size_t k = 0; k < actual.size(); ++k)
      EXPECT_NEAR(actual[k], expected[i][k], 1e-14) << params[i].name << ' ' << k;
  }
}

// As a wrapper does that gives each device a share: the blocks end elsewhere.
TEST(MovingAverage, FollowsParametersThatWereLaidOutAnew) {
  const auto params = parameters();
  ExponentialMovingAverage average(params, {.decay = 0.5});
  std::vector<ArenaEntry> entries;
  for (const NamedParameter& p : params)
    entries.push_back({p.name, p.tensor});
  const auto arena = Arena::bind(entries, {.padding = {.multiple = 4096}});
  average.update();
  for (std::size_t i = 0; i < params.size(); ++i)
    EXPECT_EQ(average.averages()[i].tensor.to_doubles(), params[i].tensor.to_doubles());
}

TEST(MovingAverage, HasTheStridesOfItsParameter) {
  manual_seed(4);
  const Tensor x = randn({3, 5}, {.dtype = DType::f64}).transpose(0, 1).detach().requires_grad_();
  const std::vector<NamedParameter> params{{"x", x}};
  ExponentialMovingAverage average(params, {.decay = 0.5});
  average.update();
  EXPECT_EQ(average.averages()[0].tensor.to_doubles(), x.to_doubles());
}

TEST(MovingAverage, TheFirstUpdateTakesTheParameters) {
  const auto params = parameters(DType::f32);
  ExponentialMovingAverage average(params, {.decay = 0.999});
  move(params, 7);
  average.update();
  EXPECT_EQ(average.averages()[0].tensor.to_doubles(), params[0].tensor.to_doubles());
  EXPECT_EQ(average.updates(), 1);
}

TEST(MovingAverage, SwapExchangesAndPutsBack) {
  const auto params = parameters();
  const SGD optimizer(params, {.lr = 1});
  ExponentialMovingAverage average(params);
  const std::vector<double> before = params[2].tensor.to_doubles();
  move(params, 5);
  const std::vector<double> now = params[2].tensor.to_doubles();
  const std::uint64_t version = params[2].tensor.buffer().version();

  average.swap();
  EXPECT_EQ(params[2].tensor.to_doubles(), before);
  EXPECT_GT(params[2].tensor.buffer().version(), version);  // replicas hear of it
  EXPECT_TRUE(average.is_swapped());
  EXPECT_THAT(thrown_text([&] { average.update(); }), HasSubstr("call swap() first to put"));
  EXPECT_THAT(thrown_text([&] { average.state_dict(); }), HasSubstr("state_dict was called while"));

  average.swap();
  EXPECT_EQ(params[2].tensor.to_doubles(), now);
  EXPECT_EQ(average.averages()[2].tensor.to_doubles(), before);
}

TEST(MovingAverage, AWholeArenaIsOnePieceOfWork) {
  const auto params = parameters();
  ExponentialMovingAverage average(params);
  const auto block = Arena::of(params[0].tensor)->layout().blocks().front();
  EXPECT_EQ(Arena::of(average.averages()[0].tensor)->layout().blocks().front().numel, block.numel);
  average.update();  // padding included
  EXPECT_EQ(average.averages()[2].tensor.to_doubles(), params[2].tensor.to_doubles());
}

TEST(MovingAverage, GoesOnFromAStateAndFollowsToAnotherArena) {
  const auto params = parameters(), twins = parameters();
  ExponentialMovingAverage average(params, {.decay = 0.8}), twin(twins, {.decay = 0.8});
  move(params, 1);
  move(twins, 1);
  average.update();
  twin.load_state_dict(average.state_dict());
  EXPECT_EQ(twin.updates(), 1);
  Arena::bind({{"c", twins[2].tensor}, {"a", twins[0].tensor}, {"b", twins[1].tensor}});
  move(params, 2);
  move(twins, 2);
  average.update();
  twin.update();
  for (std::size_t i = 0; i < params.size(); ++i) {
    EXPECT_EQ(twin.averages()[i].tensor.to_doubles(), average.averages()[i].tensor.to_doubles());
  }
}

TEST(MovingAverage, RefusesAStateOfAnotherModel) {
  const auto params = parameters();
  ExponentialMovingAverage average(params);
  OptimizerState state = average.state_dict();
  state.tensors["a"] = zeros({2});
  state.tensors.erase("b");
  state.numbers.clear();
  const std::string text = thrown_text([&] { average.load_state_dict(state); });
  EXPECT_THAT(text, HasSubstr("'a' is f32 (2)"));
  EXPECT_THAT(text, HasSubstr("has no 'b'"));
  EXPECT_THAT(text, HasSubstr("has no count of 'updates'"));
}

TEST(MovingAverage, RefusesWhatItCannotAverage) {
  EXPECT_THAT(thrown_text([] { ExponentialMovingAverage(std::vector<Tensor>{}); }),
              HasSubstr("got no parameters"));
  EXPECT_THAT(thrown_text([] { ExponentialMovingAverage(parameters(), {.decay = 1.5}); }),
              HasSubstr("decay is 1.5"));
}

}  // namespace
}  // namespace tandem::optim
