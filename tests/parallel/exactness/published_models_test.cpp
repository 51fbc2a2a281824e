// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Models of full size on devices that compute nothing. The oracle is what others have published of
// them: torchvision's numbers of parameters and of multiplications, and Hugging Face's.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <gmock/gmock.h>

#include "tandem/nn/models/bert.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"
#include "tandem/optim/sgd.hpp"
#include "tandem/profile/step_record.hpp"

#include "nn/parameter_count.hpp"
#include "parallel/nets.hpp"

namespace tandem::parallel::test {
namespace {

using nn::models::BertMaskedLm;
using nn::models::ResNet;
using nn::models::Vgg16;
using testing::parameter_count;

constexpr std::int64_t kSide = 224;  // of the images

/// A residual network and what torchvision's pages say of it.
struct Published {
  const char* name;
  ResNet (*make)();
  std::int64_t parameters;
  double giga_macs;
};
const std::vector<Published> kResNets{
    {"resnet50", [] { return nn::models::resnet50(); }, 25'557'032, 4.09},
    {"resnet101", [] { return nn::models::resnet101(); }, 44'549'160, 7.80},
    {"resnext50_32x4d", [] { return nn::models::resnext50_32x4d(); }, 25'028'904, 4.23},
    {"resnext101_32x8d", [] { return nn::models::resnext101_32x8d(); }, 88'791'336, 16.41}};
constexpr double kVggGigaMacs = 15.47;

/// Multiplications with additions of convolutions and products of matrices, in billions.
double giga_macs(const profile::StepRecord& record) {
  double flops = 0;
  for (const profile::WorkSpan& span : record.work)
    if (span.kind == Work::Kind::conv || span.kind == Work::Kind::gemm) flops += span.cost.flops;
  return flops / 2e9;
}

/// Multiplications of a forward alone, in billions. @param x  one row.
template <class M>
double forward_giga_macs(M net, const Tensor& x) {
  const autograd::NoGrad off;
  return giga_macs(profile::record([&] { static_cast<void>(net(x)); }));
}

Tensor image(std::int64_t rows = 1) {
  return randn({rows, 3, kSide, kSide});
}

class PublishedModels : public ::testing::Test {
 protected:
  void SetUp() override { devices_ = configure_devices("cpu:4@shape-only"); }
  void TearDown() override { configure_devices("cpu:4"); }

  /// What a step of a row on each of the devices does, and the peak of the last one.
  template <class M, class Loss>
  std::pair<profile::StepRecord, std::size_t> step(M net, Mode mode, const Batch& b, Loss loss) {
    optim::SGD optimizer(net.named_parameters(), {.lr = 0.1, .momentum = 0.9});
    DataParallel dp(net, {.devices = devices_, .mode = mode});
    dp.step(b, loss, &optimizer);
    logical_device(devices_.back()).reset_peak();
    const auto record = profile::record([&] { dp.step(b, loss, &optimizer); });
    return {record, logical_device(devices_.back()).memory_stats().peak};
  }

  std::vector<Device> devices_;
};

TEST_F(PublishedModels, HaveThePublishedNumbersOfParameters) {
  for (const Published& published : kResNets)
    EXPECT_EQ(parameter_count(published.make()), published.parameters) << published.name;
  EXPECT_EQ(parameter_count(Vgg16()), 138'357'544);
  EXPECT_EQ(parameter_count(BertMaskedLm()), 109'514'298);
  EXPECT_EQ(parameter_count(nn::models::Bert()), 109'482'240) << "with its pooler";
}

TEST_F(PublishedModels, MultiplyAsOftenAsPublished) {
  for (const Published& published : kResNets)
    EXPECT_NEAR(forward_giga_macs(published.make(), image()) / published.giga_macs, 1, 0.02)
        << published.name;
  EXPECT_NEAR(forward_giga_macs(Vgg16(), image()) / kVggGigaMacs, 1, 0.02);
  // Sun et al., "MobileBERT", table 4: 22.5 billion operations for 128 tokens.
  const double encoder = forward_giga_macs(nn::models::Bert(), randint(0, 30522, {1, 128}));
  EXPECT_NEAR(2 * encoder / 22.5, 1, 0.02);
  // The head: a product of width x width, and one with the table of tokens.
  const double head = 128 * (768 * 768.0 + 768 * 30522.0) / 1e9;
  EXPECT_NEAR(forward_giga_macs(BertMaskedLm(), randint(0, 30522, {1, 128})) - encoder, head, 1e-3);
}

TEST_F(PublishedModels, TakeAStepInEachModeOfShares) {
  // Backward multiplies twice as often as forward, but for the images' gradient.
  constexpr double first_conv = 64 * 3 * 49 * 112.0 * 112.0 / 1e9;
  const auto rows = static_cast<std::int64_t>(devices_.size());
  for (const Published& published : kResNets) {
    std::vector<std::size_t> peaks;
    for (const Mode mode : {Mode::ddp, Mode::sharded, Mode::fully_sharded}) {
      const auto [record, peak] = step(published.make(),
                                       mode,
                                       {image(rows), randint(0, 1000, {rows})},
                                       [](ResNet& net, const Batch& part) {
                                         return cross_entropy_sum(net(part.x), part.labels);
                                       });
      const double row = 3 * forward_giga_macs(published.make(), image()) - first_conv;
      EXPECT_NEAR(giga_macs(record), static_cast<double>(rows) * row, 1e-6)
          << published.name << ", " << name(mode);
      peaks.push_back(peak);
    }
    EXPECT_GT(peaks[0], peaks[1]) << published.name << ": shares of the state";
    EXPECT_GT(peaks[1], peaks[2]) << published.name << ": shares of the parameters";
  }
}

TEST_F(PublishedModels, BertAndVggTakeAStepInEachModeOfShares) {
  const auto rows = static_cast<std::int64_t>(devices_.size());
  std::vector<std::size_t> bert, vgg;
  for (const Mode mode : {Mode::ddp, Mode::sharded, Mode::fully_sharded}) {
    const Batch tokens{randint(0, 30522, {rows, 512}), randint(0, 30522, {rows, 512})};
    bert.push_back(step(BertMaskedLm(), mode, tokens, [](BertMaskedLm& net, const Batch& part) {
                     return cross_entropy_sum(net(part.x).flatten(0, 1), part.labels.flatten());
                   }).second);
    const Batch images{image(rows), randint(0, 1000, {rows})};
    vgg.push_back(step(Vgg16(), mode, images, [](Vgg16& net, const Batch& part) {
                    return cross_entropy_sum(net(part.x), part.labels);
                  }).second);
  }
  EXPECT_GT(bert[0], bert[1]);
  EXPECT_GT(bert[1], bert[2]);
  EXPECT_GT(vgg[0], vgg[1]);
  EXPECT_GT(vgg[0], vgg[2]) << "nine tenths of it are one unit";
  // Parameters, gradients and momentum.
  EXPECT_GT(bert[0], 3 * 4 * 109'514'298UL);
  EXPECT_GT(vgg[0], 3 * 4 * 138'357'544UL);
}

}  // namespace
}  // namespace tandem::parallel::test
