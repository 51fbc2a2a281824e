// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// What devices hold and send, by the formulas, against what allocators and links counted.
#include "tandem/parallel/mode_formulas.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/models/gpt.hpp"
#include "tandem/nn/models/mlp.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/optim/adam.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/memory_profile.hpp"
#include "tandem/profile/step_record.hpp"

#include "devices.hpp"
#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Figure = ModeFormulas::Figure;
using Setup = ModeFormulas::Setup;
using profile::CategoryBytes;

std::size_t of(const CategoryBytes& bytes, Category category) {
  return bytes[static_cast<std::size_t>(category)];
}

/// What a device was counted to hold and to send.
struct Counted {
  CategoryBytes before;  ///< without the module
  profile::DeviceMemory memory;
  CategoryBytes sent;

  std::size_t figure(Figure figure) const {
    const CategoryBytes rest = profile::by_category(memory.now);
    const CategoryBytes most = profile::peak_of_each_category(memory);
    const auto held = [&](Category c) { return of(rest, c) - of(before, c); };
    const auto besides = [&](Category c) { return of(most, c) - of(rest, c); };
    switch (figure) {
      case Figure::parameters:
        return held(Category::parameter);
      case Figure::gradients:
        return held(Category::gradient);
      case Figure::state:
        return held(Category::optimizer);
      case Figure::parameters_in_step:
        return besides(Category::parameter);
      case Figure::gradients_in_step:
        return besides(Category::gradient);
      case Figure::sent:
        return of(sent, Category::parameter) + of(sent, Category::gradient);
    }
    return SIZE_MAX;
  }
};

std::vector<Counted> before_all(const std::vector<Device>& devices) {
  std::vector<Counted> all;
  for (const Device d : devices)
    all.push_back(
        {.before = logical_device(d).memory_stats().by_category, .memory = {}, .sent = {}});
  return all;
}

/// Counts what `step` needs.
template <class Step>
void count(std::vector<Counted>& all, const std::vector<Device>& devices, Step step) {
  profile::MemoryProfile memory;
  const auto record =
      profile::record([&] { memory = profile::record_memory(std::span(devices), step); });
  for (std::size_t d = 0; d < devices.size(); ++d) {
    all[d].memory = memory.devices[d];
    for (const auto& [link, traffic] : profile::traffic(record)) {
      for (std::size_t c = 0; link.source == devices[d] && c < all[d].sent.size(); ++c)
        all[d].sent[c] += traffic.by_category[c];
    }
  }
}

void expect_counted(const ModeFormulas& formulas, const std::vector<Counted>& all) {
  for (std::size_t d = 0; d < all.size(); ++d)
    for (const Figure figure : ModeFormulas::kFigures)
      EXPECT_EQ(all[d].figure(figure), formulas.nbytes(figure, static_cast<int>(d)))
          << name(figure) << " of device " << d << ", "
          << formulas.formula(figure, static_cast<int>(d)) << "; " << formulas.legend();
}

/// Trains a module by dp.step, and holds the second step to the formulas.
///
/// @param make  makes the module.
template <class Make, class B, class Loss>
void expect_exact(const Make& make, const B& batch, Loss loss, DataParallelOptions options) {
  std::vector<Counted> counted = before_all(options.devices);
  auto net = make();
  const ModeFormulas formulas(net,
                              {.mode = options.mode,
                               .devices = static_cast<int>(options.devices.size()),
                               .sharding = options.sharding,
                               .accumulate = options.accumulate,
                               .exchange = options.exchange});
  DataParallel dp(net, options);
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  const auto step = [&] { dp.step(batch, loss, &adam); };
  step();
  count(counted, options.devices, step);
  expect_counted(formulas, counted);
}

constexpr std::int64_t kRows = 16;

constexpr auto kLossOfTokens = [](auto& net, const Batch& s) {
  return cross_entropy_sum(net(s.x).flatten(0, 1), s.labels.flatten());
};

auto small_mlp() {
  return nn::models::Mlp({.sizes = {20, 24, 18, 5}});
}
auto gpt_of_two_blocks() {
  return nn::models::Gpt(
      {.layers = 2, .width = 16, .heads = 2, .context = 8, .vocabulary = 11, .dropout = 0});
}
auto small_resnet18() {
  return nn::models::resnet18({.classes = 5, .width = 4, .stem = nn::models::ResNetStem::cifar});
}

Batch rows_of_numbers() {
  return {randn({kRows, 20}), randint(0, 5, {kRows})};
}
Batch rows_of_tokens() {
  return {randint(0, 11, {kRows, 6}), randint(0, 11, {kRows, 6})};
}

class ModeFormulasTest : public ::testing::TestWithParam<std::tuple<Mode, int>> {
 protected:
  DataParallelOptions options() const {
    return {.devices = devices(std::get<int>(GetParam())), .mode = std::get<Mode>(GetParam())};
  }
};

TEST_P(ModeFormulasTest, HoldForAnMlp) {
  expect_exact(small_mlp, rows_of_numbers(), kLoss, options());
}

TEST_P(ModeFormulasTest, HoldForAGptWithATiedHead) {
  expect_exact(gpt_of_two_blocks, rows_of_tokens(), kLossOfTokens, options());
}

TEST_P(ModeFormulasTest, HoldForAResnetWithBatchNorm) {
  const Batch images{randn({kRows, 3, 8, 8}), randint(0, 5, {kRows})};
  expect_exact(small_resnet18, images, kLoss, options());
}

INSTANTIATE_TEST_SUITE_P(All,
                         ModeFormulasTest,
                         ::testing::Combine(::testing::ValuesIn(kModes),
                                            ::testing::Values(1, 2, 3, 4, 8)));

/// What a mode may be used with.
class ModeFormulasOf : public ::testing::TestWithParam<Mode> {
 protected:
  const DataParallelOptions options_{.devices = devices(kDevices), .mode = GetParam()};
};

TEST_P(ModeFormulasOf, SeveralBucketsHaveUnevenShares) {
  DataParallelOptions options = options_;
  options.exchange.first_bucket_nbytes = options.exchange.bucket_nbytes = 600;
  expect_exact(small_mlp, rows_of_numbers(), kLoss, options);
}

TEST_P(ModeFormulasOf, MicroBatchesKeepWholeGradients) {
  DataParallelOptions options = options_;
  options.accumulate = 2;
  expect_exact(gpt_of_two_blocks, rows_of_tokens(), kLossOfTokens, options);
}

TEST_P(ModeFormulasOf, UnitsAreBlocksAndTheRest) {
  DataParallelOptions options = options_;
  options.sharding.units = UnitPolicy::by_type<nn::TransformerBlock>();
  expect_exact(gpt_of_two_blocks, rows_of_tokens(), kLossOfTokens, options);
}

TEST_P(ModeFormulasOf, UnitsMayStayUntilBackwardHasEnded) {
  DataParallelOptions options = options_;
  options.sharding.reshard_after_forward = false;
  for (const int accumulate : {1, 2}) {
    options.accumulate = accumulate;
    expect_exact(small_mlp, rows_of_numbers(), kLoss, options);
    expect_exact(gpt_of_two_blocks, rows_of_tokens(), kLossOfTokens, options);
  }
}

TEST_P(ModeFormulasOf, RecomputedBlocksAreGatheredOnceMoreAsBefore) {
  const auto make = [] {
    return nn::models::Gpt({.layers = 3,
                            .width = 16,
                            .heads = 2,
                            .context = 8,
                            .vocabulary = 11,
                            .dropout = 0,
                            .recompute = true});
  };
  expect_exact(make, rows_of_tokens(), kLossOfTokens, options_);
}

TEST_P(ModeFormulasOf, FrozenLayersHaveNoGradients) {
  const auto make = [] {
    auto net = small_mlp();
    net.layers.front().requires_grad_(false);
    return net;
  };
  expect_exact(make, rows_of_numbers(), kLoss, options_);
}

TEST_P(ModeFormulasOf, AForwardAndItsBackwardAreTwoCalls) {
  std::vector<Counted> counted = before_all(options_.devices);
  auto net = gpt_of_two_blocks();
  const ModeFormulas formulas(net,
                              {.mode = GetParam(),
                               .devices = kDevices,
                               .states = 1,
                               .calls = Setup::Calls::forward_and_backward});
  DataParallel dp(net, options_);
  optim::SGD sgd(net.named_parameters(), {.lr = 0.01, .momentum = 0.9});
  const Batch samples = rows_of_tokens();
  const auto step = [&] {
    sgd.zero_grad();
    cross_entropy(dp(samples.x).flatten(0, 1), samples.labels.flatten()).backward();
    sgd.step();
  };
  step();
  count(counted, options_.devices, step);
  expect_counted(formulas, counted);
}

TEST_P(ModeFormulasOf, LeavesOfTheSameBitsLeaveSharesBehind) {
  DataParallelOptions options = options_;
  options.bitwise_leaves = 8;
  std::vector<Counted> counted = before_all(options.devices);
  auto net = small_mlp();
  const ModeFormulas formulas(net, {.mode = GetParam(), .devices = kDevices});
  DataParallel dp(net, options);
  optim::Adam adam(net.named_parameters(), {.lr = 0.01});
  count(counted, options.devices, [&] { dp.step(rows_of_numbers(), kLoss, &adam); });
  for (std::size_t d = 0; d < counted.size(); ++d)
    for (const Figure figure : {Figure::parameters, Figure::gradients, Figure::state})
      EXPECT_EQ(counted[d].figure(figure), formulas.nbytes(figure, static_cast<int>(d)))
          << name(figure) << " of device " << d;
}

INSTANTIATE_TEST_SUITE_P(All, ModeFormulasOf, ::testing::ValuesIn(kModes));

TEST(ModeFormulasOfShares, HoldWhereTheyAreKeptElsewhere) {
  for (const int accumulate : {1, 2}) {
    const DataParallelOptions options{.devices = devices(kDevices),
                                      .mode = Mode::fully_sharded,
                                      .accumulate = accumulate,
                                      .sharding = {.offload = testing::device(7)}};
    expect_exact(small_mlp, rows_of_numbers(), kLoss, options);
    expect_exact(gpt_of_two_blocks, rows_of_tokens(), kLossOfTokens, options);
  }
}

/// Of Mlp in f32, by hand: hidden has 192 + 64 numbers and head 128 + 64, in bytes 1024 and 768. As
/// shares of three devices they are padded to multiples of 768: 1536 and 768.
struct ByHand {
  Mode mode;
  int device;
  std::array<std::size_t, 6> nbytes;  ///< in the order of kFigures
};

TEST(ModeFormulasByHand, AreThoseOfTheTable) {
  Mlp net(DType::f32);
  for (const auto& [mode, device, nbytes] :
       {ByHand{Mode::ddp, 0, {1792, 1792, 3584, 0, 0, 2392}},
        ByHand{Mode::ddp, 2, {1792, 1792, 3584, 0, 0, 2388}},
        ByHand{Mode::sharded, 0, {1792, 1792, 1200, 0, 0, 2392}},
        ByHand{Mode::sharded, 1, {1792, 1792, 1192, 0, 0, 2388}},
        ByHand{Mode::sharded_gradients, 1, {2304, 768, 1536, 0, 2304, 3072}},
        ByHand{Mode::fully_sharded, 0, {768, 768, 1536, 1536, 2304, 3072}},
        ByHand{Mode::server, 0, {1792, 1792, 3584, 0, 0, 3584}},
        ByHand{Mode::classic, 2, {1792, 1792, 0, 0, 0, 1792}}}) {
    const ModeFormulas formulas(net, {.mode = mode, .devices = 3});
    for (std::size_t f = 0; f < nbytes.size(); ++f)
      EXPECT_EQ(formulas.nbytes(ModeFormulas::kFigures[f], device), nbytes[f])
          << name(mode) << ", " << name(ModeFormulas::kFigures[f]);
  }
}

TEST(ModeFormulasByHand, AreSaidInLetters) {
  Mlp net(DType::f32);
  const ModeFormulas formulas(net, {.mode = Mode::fully_sharded, .devices = 3});
  EXPECT_EQ(formulas.formula(Figure::parameters, 0), "S/n");
  EXPECT_EQ(formulas.formula(Figure::state, 0), "2 S/n");
  EXPECT_EQ(formulas.formula(Figure::parameters_in_step, 0), "U");
  EXPECT_EQ(formulas.formula(Figure::sent, 0), "(n-1)/n (S + G)");
  EXPECT_EQ(formulas.legend(),
            "n = 3, S = 2304 bytes of parameters in 2 units, U = 1536 bytes of the largest unit, G "
            "= 2304 bytes that forward and backward gather");
  net.hidden.requires_grad_(false);
  const ModeFormulas frozen(net, {.mode = Mode::server, .devices = 3, .states = 1});
  EXPECT_EQ(frozen.formula(Figure::state, 0), "T");
  EXPECT_EQ(frozen.formula(Figure::state, 1), "0");
  EXPECT_EQ(frozen.formula(Figure::sent, 0), "(n-1) S");
  EXPECT_EQ(frozen.legend(),
            "n = 3, S = 1792 bytes of parameters, T = 768 bytes of those that train");
}

TEST(ModeFormulasByHand, RefuseWhatMakesNoSense) {
  Mlp net;
  EXPECT_THAT([&] { ModeFormulas(net, {.devices = 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("devices is 0")));
  EXPECT_THAT([&] { ModeFormulas(net, {.states = -1}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("states is -1")));
  EXPECT_THAT([&] { ModeFormulas(net, {.accumulate = 0}); },
              ThrowsMessage<InvalidArgument>(HasSubstr("accumulate is 0")));
  EXPECT_THAT([&] { ModeFormulas(net, {.devices = 2}).nbytes(Figure::sent, 2); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no device 2 among 2")));
}

}  // namespace
}  // namespace tandem::parallel::test
