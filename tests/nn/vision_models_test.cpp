// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "tandem/nn/loss.hpp"
#include "tandem/nn/models/resnet.hpp"
#include "tandem/nn/models/vgg.hpp"
#include "tandem/nn/replicate.hpp"
#include "tandem/ops/reduce.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/tensor/factories.hpp"

#include "devices.hpp"
#include "nn/parameter_count.hpp"
#include "thrown_text.hpp"

// The values of these networks are PyTorch's (tests/oracles); here is what torchvision's full sizes
// say.
namespace tandem::nn::models {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::thrown_text;

std::set<std::string> names(const Module& module) {
  std::set<std::string> all;
  for (const NamedTensor& entry : module.state_dict())
    all.insert(entry.name);
  return all;
}

/// Every parameter gets a finite gradient that is not all zero.
template <class M>
void expect_trains(M net, const Tensor& x, std::int64_t classes) {
  const Tensor y = net(x);
  ASSERT_EQ(y.shape(), (Shape{x.size(0), classes}));
  CrossEntropyLoss()(y, zeros({x.size(0)}, {.dtype = DType::i64})).backward();
  for (const auto& [name, p] : net.named_parameters()) {
    ASSERT_TRUE(p.grad().defined()) << name;
    const double norm = global_norm({p.grad()}).item();
    EXPECT_TRUE(std::isfinite(norm)) << name;
    EXPECT_GT(norm, 0) << name;
  }
}

class VisionModelsTest : public ::testing::Test {
 protected:
  void SetUp() override { manual_seed(4); }
};

TEST_F(VisionModelsTest, ResNetsHaveTorchvisionsParameters) {
  EXPECT_EQ(testing::parameter_count(resnet18()), 11'689'512);
  EXPECT_EQ(testing::parameter_count(resnet34()), 21'797'672);
  EXPECT_EQ(testing::parameter_count(resnet50()), 25'557'032);
  const ResNet net = resnet18({.width = 1});
  EXPECT_EQ(net.state_dict().size(), 122u);
  EXPECT_EQ(resnet50({.width = 1}).state_dict().size(), 320u);
  EXPECT_THAT(names(net),
              IsSupersetOf({"conv1.weight",
                            "bn1.running_mean",
                            "layer1.0.conv1.weight",
                            "layer2.0.downsample.0.weight",
                            "layer2.0.downsample.1.num_batches_tracked",
                            "layer4.1.bn2.bias",
                            "fc.weight",
                            "fc.bias"}));
  EXPECT_THAT(names(resnet50({.width = 1})),
              IsSupersetOf({"layer1.0.conv3.weight", "layer1.0.downsample.1.weight"}));
}

TEST_F(VisionModelsTest, GroupsAreThoseOfTheThirdDimension) {
  // torchvision: the 3x3 convolutions have int(width * width_per_group / 64) * groups channels.
  const ResNet net = resnext50_32x4d({.width = 16});
  EXPECT_EQ(net.layer1[0].conv2.weight.shape(), (Shape{32, 1, 3, 3}));
  EXPECT_EQ(net.layer4[2].conv2.weight.shape(), (Shape{256, 8, 3, 3}));
  EXPECT_EQ(net.layer4[2].conv3->weight.shape(), (Shape{512, 256, 1, 1}));
  EXPECT_EQ(resnext101_32x8d({.width = 8}).layer3.size(), 23u);
  EXPECT_EQ(resnext101_32x8d({.width = 8}).layer2[3].conv2.weight.shape(), (Shape{64, 2, 3, 3}));
}

TEST_F(VisionModelsTest, BasicBlocksHaveNoGroups) {
  EXPECT_THAT(thrown_text([] { resnet18({.width = 8, .groups = 2}); }),
              ::testing::AllOf(HasSubstr("groups 1"), HasSubstr("got 2 and 64")));
  EXPECT_THAT(thrown_text([] { resnet34({.width = 8, .width_per_group = 128}); }),
              HasSubstr("got 1 and 128"));
  EXPECT_THAT(thrown_text([] { resnet50({.width = 8, .groups = 0}); }),
              HasSubstr("at least 1, got 0 and 64"));
}

TEST_F(VisionModelsTest, Vgg16HasTorchvisionsParameters) {
  // torchvision's 138,357,544 and 138,365,992 without the two large linear layers.
  constexpr std::int64_t large = 512 * 49 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 1000 + 1000;
  constexpr std::int64_t small = 512 * 49 * 2 + 2 + 2 * 2 + 2 + 2 * 1000 + 1000;
  EXPECT_EQ(testing::parameter_count(Vgg16({.hidden = 2})), 138'357'544 - large + small);
  EXPECT_EQ(testing::parameter_count(Vgg16({.hidden = 2, .norm = VggNorm::batch})),
            138'365'992 - large + small);
  EXPECT_THAT(names(Vgg16({.width = 1, .hidden = 2})),
              IsSupersetOf({"features.0.weight",
                            "features.2.weight",
                            "features.5.bias",
                            "features.28.weight",
                            "classifier.0.weight",
                            "classifier.3.weight",
                            "classifier.6.bias"}));
  EXPECT_THAT(names(Vgg16({.width = 1, .hidden = 2, .norm = VggNorm::batch})),
              IsSupersetOf({"features.0.weight",
                            "features.1.running_var",
                            "features.40.weight",
                            "features.41.bias"}));
}

TEST_F(VisionModelsTest, InitialWeightsAreTorchvisions) {
  const auto deviation = [](const Tensor& x) {
    double squares = 0;
    for (const double v : x.to_doubles())
      squares += v * v;
    return std::sqrt(squares / static_cast<double>(x.numel()));
  };
  const ResNet net = resnet18({.width = 16});
  // He et al. by the outputs: sqrt(2 / (128 * 9)).
  EXPECT_NEAR(deviation(net.layer4[1].conv2.weight), 0.041667, 2e-4);
  Vgg16 vgg({.width = 16, .hidden = 64});
  EXPECT_NEAR(deviation(vgg.features.units[12].conv.weight), 0.041667, 2e-4);
  EXPECT_EQ(deviation(vgg.features.units[12].conv.bias), 0);
  EXPECT_NEAR(deviation(vgg.classifier.get<0>().weight), 0.01, 1e-4);
}

TEST_F(VisionModelsTest, EveryParameterTrains) {
  expect_trains(resnet18({.classes = 7, .width = 4}), randn({2, 3, 40, 33}), 7);
  expect_trains(resnet34({.channels = 1, .classes = 7, .width = 2, .stem = ResNetStem::cifar}),
                randn({4, 1, 16, 16}),
                7);
  expect_trains(
      resnet50({.classes = 7, .width = 4, .stem = ResNetStem::cifar}), randn({4, 3, 16, 16}), 7);
  expect_trains(resnext50_32x4d({.classes = 7, .width = 16}), randn({3, 3, 64, 64}), 7);
}

TEST_F(VisionModelsTest, StemsDifferInTheSizeOfTheImage) {
  ResNet imagenet = resnet18({.width = 2}),
         cifar = resnet18({.width = 2, .stem = ResNetStem::cifar});
  EXPECT_EQ(imagenet.conv1.weight.shape(), (Shape{2, 3, 7, 7}));
  EXPECT_EQ(cifar.conv1.weight.shape(), (Shape{2, 3, 3, 3}));
  Shape small, large;
  const auto watch = [](ResNet& net, Shape& seen) {
    net.layer1[0].register_forward_pre_hook(
        [&seen](const ForwardCall& call) { seen = call.tensors[0].shape(); });
    net(randn({2, 3, 32, 32}));
  };
  watch(imagenet, small);
  watch(cifar, large);
  EXPECT_EQ(small, (Shape{2, 2, 8, 8}));
  EXPECT_EQ(large, (Shape{2, 2, 32, 32}));
}

TEST_F(VisionModelsTest, ReplicasGiveTheSame) {
  const Device other = testing::device(1);
  ResNet net = resnet50({.classes = 3, .width = 1, .dtype = DType::f64});
  Vgg16 vgg({.classes = 3,
             .width = 1,
             .hidden = 2,
             .dropout = 0,
             .norm = VggNorm::batch,
             .dtype = DType::f64});
  const Tensor x = randn({2, 3, 32, 32}, {.dtype = DType::f64});
  EXPECT_EQ(replicate(net, other)(x.to(other)).to_doubles(), net(x).to_doubles());
  EXPECT_EQ(replicate(vgg, other)(x.to(other)).to_doubles(), vgg(x).to_doubles());
}

TEST_F(VisionModelsTest, SmallImagesAreRefused) {
  Vgg16 vgg({.width = 1, .hidden = 2});
  EXPECT_THAT(thrown_text([&] {
                vgg(randn({1, 3, 31, 32}));
              }),
              ::testing::AllOf(HasSubstr("at least 32 x 32"), HasSubstr("(1, 3, 31, 32)")));
}

}  // namespace
}  // namespace tandem::nn::models
