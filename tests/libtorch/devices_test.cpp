// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Virtual devices as devices of PyTorch: modules, optimizers, memory, links, errors.

#include "tandem/libtorch/devices.hpp"

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <torch/torch.h>

#include "tandem/runtime/observer.hpp"
#include "tandem/runtime/runtime.hpp"

#include "thrown_text.hpp"

namespace tandem::libtorch {
namespace {

using tandem::testing::thrown_text;
using ::testing::AllOf;
using ::testing::HasSubstr;
using torch::nn::Sequential;

constexpr int kCount = 4;

torch::Device device(int index) {
  return torch_device({DeviceType::cpu, index});
}

std::size_t in_use(int index) {
  return logical_device({DeviceType::cpu, index}).memory_stats().in_use;
}

class TorchDevicesTest : public ::testing::Test {
 protected:
  TorchDevicesTest() {
    register_devices(8);  // as a wrapper does
    torch::manual_seed(1);
  }
};

/// A module, and the input that it takes.
struct Case {
  std::string name;
  std::function<Sequential()> make;
  std::vector<std::int64_t> input;
  bool takes_integers = false;
};

const std::vector<std::int64_t> kRows{6, 8}, kImages{4, 3, 10, 10}, kTokens{3, 5};

/// Elementwise modules behind a linear layer.
std::vector<Case> activations() {
  namespace nn = torch::nn;
  std::vector<Case> all;
  const auto add = [&](const std::string& name, const auto& module) {
    all.push_back({name, [=] { return Sequential(nn::Linear(8, 8), module); }, kRows});
  };
  add("relu6", nn::ReLU6());
  add("elu", nn::ELU());
  add("selu", nn::SELU());
  add("celu", nn::CELU());
  add("leaky_relu", nn::LeakyReLU());
  add("hardtanh", nn::Hardtanh());
  add("sigmoid", nn::Sigmoid());
  add("log_sigmoid", nn::LogSigmoid());
  add("softplus", nn::Softplus());
  add("softsign", nn::Softsign());
  add("tanhshrink", nn::Tanhshrink());
  add("mish", nn::Mish());
  add("log_softmax", nn::LogSoftmax(1));
  add("glu", nn::GLU());
  return all;
}

/// Modules for images, sequences and volumes.
std::vector<Case> spatial() {
  namespace nn = torch::nn;
  const std::vector<std::int64_t> sequences{3, 4, 12}, volumes{2, 2, 5, 5, 5};
  return {
      {"conv1d", [] { return Sequential(nn::Conv1d(4, 5, 3), nn::MaxPool1d(2)); }, sequences},
      {"avg_pool1d", [] { return Sequential(nn::Conv1d(4, 5, 3), nn::AvgPool1d(2)); }, sequences},
      {"conv_transpose1d", [] { return Sequential(nn::ConvTranspose1d(4, 5, 3)); }, sequences},
      {"conv3d", [] { return Sequential(nn::Conv3d(2, 3, 3), nn::BatchNorm3d(3)); }, volumes},
      {"grouped_conv2d",
       [] { return Sequential(nn::Conv2d(nn::Conv2dOptions(3, 6, 3).groups(3).dilation(2))); },
       kImages},
      {"reflection_pad2d",
       [] { return Sequential(nn::ReflectionPad2d(2), nn::Conv2d(3, 2, 3)); },
       kImages},
      {"pixel_shuffle",
       [] { return Sequential(nn::Conv2d(3, 4, 3), nn::PixelShuffle(2)); },
       kImages},
      {"local_response_norm",
       [] { return Sequential(nn::Conv2d(3, 4, 3), nn::LocalResponseNorm(2)); },
       kImages},
  };
}

std::vector<Case> cases() {
  namespace nn = torch::nn;
  const auto conv = [] { return nn::Conv2d(nn::Conv2dOptions(3, 4, 3).padding(1)); };
  return {
      {"linear", [] { return Sequential(nn::Linear(8, 5)); }, kRows},
      {"mlp", [] { return Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 3)); }, kRows},
      {"gelu", [] { return Sequential(nn::Linear(8, 8), nn::GELU()); }, kRows},
      {"silu", [] { return Sequential(nn::Linear(8, 8), nn::SiLU()); }, kRows},
      {"tanh", [] { return Sequential(nn::Linear(8, 8), nn::Tanh()); }, kRows},
      {"softmax", [] { return Sequential(nn::Linear(8, 8), nn::Softmax(1)); }, kRows},
      {"prelu", [] { return Sequential(nn::Linear(8, 8), nn::PReLU()); }, kRows},
      {"batch_norm1d", [] { return Sequential(nn::BatchNorm1d(8)); }, kRows},
      {"layer_norm",
       [] { return Sequential(nn::LayerNorm(nn::LayerNormOptions({8})), nn::Linear(8, 2)); },
       kRows},
      {"conv2d", [=] { return Sequential(conv()); }, kImages},
      {"conv_transpose2d", [] { return Sequential(nn::ConvTranspose2d(3, 4, 3)); }, kImages},
      {"batch_norm2d", [=] { return Sequential(conv(), nn::BatchNorm2d(4), nn::ReLU()); }, kImages},
      {"group_norm", [=] { return Sequential(conv(), nn::GroupNorm(2, 4)); }, kImages},
      {"instance_norm2d",
       [=] {
         return Sequential(conv(), nn::InstanceNorm2d(nn::InstanceNorm2dOptions(4).affine(true)));
       },
       kImages},
      {"max_pool2d", [=] { return Sequential(conv(), nn::MaxPool2d(2)); }, kImages},
      {"avg_pool2d", [=] { return Sequential(conv(), nn::AvgPool2d(2)); }, kImages},
      {"adaptive_avg_pool2d",
       [=] {
         return Sequential(conv(), nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({3, 3})));
       },
       kImages},
      {"upsample",
       [=] {
         return Sequential(conv(),
                           nn::Upsample(nn::UpsampleOptions()
                                            .scale_factor(std::vector<double>{2, 2})
                                            .mode(torch::kBilinear)
                                            .align_corners(false)));
       },
       kImages},
      {"embedding",
       [] { return Sequential(nn::Embedding(9, 8), nn::Linear(8, 9)); },
       kTokens,
       true},
      {"transformer_encoder_layer",
       [] {
         return Sequential(
             nn::Embedding(9, 8),
             nn::TransformerEncoderLayer(nn::TransformerEncoderLayerOptions(8, 2).dropout(0)));
       },
       kTokens,
       true},
  };
}

/// Random numbers, or integers below 9, on the host.
torch::Tensor input_of(const Case& c, torch::Dtype dtype) {
  return c.takes_integers ? torch::randint(9, c.input) : torch::randn(c.input, dtype);
}

double gap(const torch::Tensor& a, const torch::Tensor& b) {
  return (a.cpu() - b.cpu()).abs().max().item<double>();
}

TEST_F(TorchDevicesTest, ModulesGiveWhatTheyGiveOnTheHost) {
  const torch::NoGradGuard off;  // cloning is of values
  std::vector<Case> all = cases();
  for (const auto& more : {activations(), spatial()})
    all.insert(all.end(), more.begin(), more.end());
  EXPECT_GE(all.size(), 40u);
  for (const Case& c : all) {
    for (const auto& [dtype, tolerance] :
         {std::pair{torch::kFloat, 2e-6}, {torch::kDouble, 1e-12}}) {
      SCOPED_TRACE(c.name + ' ' + c10::toString(dtype));
      Sequential host = c.make();
      host->to(dtype);
      Sequential there(
          std::dynamic_pointer_cast<torch::nn::SequentialImpl>(host->clone(device(1))));
      const torch::AutoGradMode on(true);
      const torch::Tensor x = input_of(c, dtype);
      const torch::Tensor y = host->forward(x), z = there->forward(x.to(device(1)));
      EXPECT_EQ(z.device(), device(1));
      EXPECT_LE(gap(y, z), tolerance);
      y.square().mean().backward();
      z.square().mean().backward();
      for (std::size_t p = 0; p < host->parameters().size(); ++p) {
        const torch::Tensor grad = there->parameters()[p].grad();
        EXPECT_EQ(grad.device(), device(1));
        EXPECT_LE(gap(host->parameters()[p].grad(), grad), tolerance);
      }
    }
  }
}

TEST_F(TorchDevicesTest, RecurrentModulesToo) {
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(4, 5).batch_first(true));
  torch::nn::GRU gru(torch::nn::GRUOptions(5, 3).batch_first(true));
  const torch::Tensor x = torch::randn({2, 6, 4});
  const auto run = [&](const torch::Tensor& in) {
    const torch::Tensor y = std::get<0>(gru->forward(std::get<0>(lstm->forward(in))));
    y.square().mean().backward();
    std::vector<torch::Tensor> all{y.detach().cpu()};
    for (auto* const m : {static_cast<torch::nn::Module*>(lstm.get()),
                          static_cast<torch::nn::Module*>(gru.get())}) {
      for (torch::Tensor& p : m->parameters())
        all.push_back(p.grad().cpu().clone());
      m->zero_grad();
    }
    return all;
  };
  const auto host = run(x);
  lstm->to(device(2));
  gru->to(device(2));
  const auto there = run(x.to(device(2)));
  for (std::size_t i = 0; i < host.size(); ++i)
    EXPECT_LE(gap(host[i], there[i]), 1e-6) << i;
}

template <class Optimizer, class Options>
void check_optimizer(const Options& options) {
  torch::nn::Linear host(8, 8), there(8, 8);
  {
    const torch::NoGradGuard off;
    for (std::size_t p = 0; p < 2; ++p)
      there->parameters()[p].copy_(host->parameters()[p]);
  }
  there->to(device(3));
  Optimizer of_host(host->parameters(), options), of_there(there->parameters(), options);
  for (int i = 0; i < 3; ++i) {
    const torch::Tensor x = torch::randn({4, 8});
    const auto step = [](auto& module, auto& optimizer, const torch::Tensor& in) {
      optimizer.zero_grad();
      module->forward(in).square().mean().backward();
      optimizer.step();
    };
    step(host, of_host, x);
    step(there, of_there, x.to(device(3)));
  }
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_LE(gap(host->parameters()[p], there->parameters()[p]), 1e-6);
}

TEST_F(TorchDevicesTest, OptimizersStepAsOnTheHost) {
  check_optimizer<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9));
  check_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.01));
  check_optimizer<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01));
}

TEST_F(TorchDevicesTest, MemoryIsTheDevicesToTheByteAndAllComesBack) {
  const std::size_t before = in_use(1), of_host = in_use(0);
  {
    const torch::Tensor x = torch::ones({10, 10}, torch::TensorOptions(device(1)));
    EXPECT_EQ(in_use(1) - before, 400u);
    {
      const torch::Tensor normal = torch::layer_norm(x, {10});  // a kernel of the host allocates
      EXPECT_EQ(in_use(1) - before, 800u);
    }
    torch::Tensor w = torch::ones({10, 10}, torch::TensorOptions(device(1))).requires_grad_();
    const torch::Tensor y = torch::matmul(x, w);
    EXPECT_EQ(in_use(1) - before, 1200u);
    y.square().sum().backward();
    EXPECT_EQ(w.grad().cpu().sum().item<float>(), 2 * 10 * 10 * 10 * 10);
  }
  EXPECT_EQ(in_use(1), before);
  EXPECT_EQ(in_use(0), of_host) << "plain tensors of the host are nobody's";
}

TEST_F(TorchDevicesTest, ALimitIsPyTorchsOutOfMemoryErrorAndTheDeviceWorksOn) {
  LogicalDevice& limited = logical_device({DeviceType::cpu, 2});
  const torch::Tensor held = torch::zeros({250}, torch::TensorOptions(device(2)));
  limited.set_limit(limited.memory_stats().in_use + 1100);
  EXPECT_THAT(thrown_text<c10::OutOfMemoryError>(
                  [&] { torch::zeros({1000}, torch::TensorOptions(device(2))); }),
              AllOf(HasSubstr("cpu:2"), HasSubstr("4000"), HasSubstr("activation")));
  EXPECT_THROW(held.repeat({4}), c10::OutOfMemoryError) << "inside of a kernel of the host";
  EXPECT_EQ((held + 1).sum().item<float>(), 250);
  limited.set_limit(SIZE_MAX);
}

TEST_F(TorchDevicesTest, DevicesDoNotMix) {
  const torch::Tensor a = torch::ones({2}, torch::TensorOptions(device(0))),
                      b = torch::ones({2}, torch::TensorOptions(device(1)));
  EXPECT_THAT(thrown_text<c10::Error>([&] { a + b; }),
              AllOf(HasSubstr("Expected all tensors to be on the same device"),
                    HasSubstr("tandem:0"),
                    HasSubstr("tandem:1")));
  EXPECT_THROW(torch::cat({a, b}), c10::Error);
  EXPECT_THROW(torch::where(a > 0, a, b), c10::Error);
  EXPECT_THROW(torch::ones({1}, torch::TensorOptions(torch::Device("tandem:8"))), c10::Error);
  EXPECT_EQ(torch::Device("tandem:3"), device(3));
}

/// Counts bytes by link.
class Links final : public Observer {
 public:
  void on_copy(const CopyEvent& copy) noexcept override {
    bytes[to_string(copy.source) + " -> " + to_string(copy.destination)] += copy.nbytes;
  }
  std::map<std::string, std::size_t> bytes;
};

TEST_F(TorchDevicesTest, CopiesBetweenDevicesAreCounted) {
  const torch::Tensor x = torch::ones({100});
  Links links;
  {
    const Subscription subscription(links);
    const torch::Tensor there = x.to(device(1));
    const torch::Tensor other = there.to(device(2)).to(torch::kDouble);
    other.cpu();
    there.clone();
  }
  EXPECT_THAT(links.bytes,
              ::testing::ElementsAre(std::pair("cpu:0 -> cpu:1", 400u),
                                     std::pair("cpu:1 -> cpu:2", 400u),
                                     std::pair("cpu:2 -> cpu:0", 800u)));
}

TEST_F(TorchDevicesTest, EachDeviceHasRandomNumbersOfItsOwnThatFollowTheSeed) {
  const auto draw = [](int d) {
    const torch::Tensor x = torch::ones({64}, torch::TensorOptions(device(d)));
    const torch::Tensor y = torch::dropout(x, 0.5, true);
    return torch::cat({y, torch::rand_like(x)}).cpu();
  };
  torch::manual_seed(5);
  const torch::Tensor first = draw(1), second = draw(1);
  torch::manual_seed(5);
  torch::randn({7});  // of the host
  draw(2);
  EXPECT_TRUE(torch::equal(first, draw(1)));
  EXPECT_TRUE(torch::equal(second, draw(1)));
  EXPECT_FALSE(torch::equal(first, second));
}

TEST_F(TorchDevicesTest, OutTensorsAreResizedOnTheDevice) {
  const torch::Tensor x = torch::ones({30}, torch::TensorOptions(device(1)));
  torch::Tensor out = torch::empty({0}, torch::TensorOptions(device(1)));
  torch::add_out(out, x, x);
  EXPECT_EQ(out.sizes(), x.sizes());
  EXPECT_EQ(out.sum().item<float>(), 60);
  x.resize_({60});
  EXPECT_EQ(x.slice(0, 0, 30).sum().item<float>(), 30);
}

TEST_F(TorchDevicesTest, AutocastComputesIn16Bits) {
  const torch::Tensor x = torch::ones({4, 4}, torch::TensorOptions(device(1)));
  at::autocast::set_autocast_dtype(at::kPrivateUse1, at::kBFloat16);
  at::autocast::set_autocast_enabled(at::kPrivateUse1, true);
  const torch::Tensor y = torch::matmul(x, x), z = torch::softmax(y, 1);
  at::autocast::set_autocast_enabled(at::kPrivateUse1, false);
  EXPECT_EQ(y.scalar_type(), torch::kBFloat16);
  EXPECT_EQ(z.scalar_type(), torch::kFloat);
}

TEST_F(TorchDevicesTest, OneGraphMayCrossDevices) {
  const torch::Tensor w = torch::randn({4, 4}).requires_grad_(), x = torch::randn({3, 4});
  const auto loss = [&](torch::Device a, torch::Device b) {
    const torch::Tensor first = torch::matmul(x.to(a), w.to(a)).tanh();
    return torch::matmul(first.to(b), w.to(b)).square().sum();
  };
  const auto gradient = [&](const torch::Tensor& y) { return torch::autograd::grad({y}, {w})[0]; };
  const torch::Tensor host = gradient(loss(torch::kCPU, torch::kCPU));
  EXPECT_LE(gap(host, gradient(loss(device(1), device(2)))), 1e-5);
}

TEST_F(TorchDevicesTest, ThreadsTrainOnDevicesOfTheirOwn) {
  const torch::Tensor x = torch::randn({8, 16});
  const torch::nn::Linear original(16, 16);
  std::vector<std::size_t> before;
  for (int d = 0; d < kCount; ++d)
    before.push_back(in_use(d));
  std::vector<torch::Tensor> weights(kCount);
  const auto train = [&](torch::Device where) {
    const auto net = std::dynamic_pointer_cast<torch::nn::LinearImpl>(original->clone(where));
    torch::optim::SGD optimizer(net->parameters(), 0.1);
    for (int i = 0; i < 30; ++i) {
      optimizer.zero_grad();
      net->forward(x.to(where)).tanh().square().mean().backward();
      optimizer.step();
    }
    return net->weight.detach().to(torch::kCPU).clone();
  };
  std::vector<std::thread> threads;
  for (int d = 0; d < kCount; ++d)
    threads.emplace_back([&, d] { weights[static_cast<std::size_t>(d)] = train(device(d)); });
  for (std::thread& t : threads)
    t.join();
  const torch::Tensor wanted = train(torch::kCPU);
  for (const torch::Tensor& w : weights)
    EXPECT_LE(gap(wanted, w), 1e-6);
  for (int d = 0; d < kCount; ++d)
    EXPECT_EQ(in_use(d), before[static_cast<std::size_t>(d)]) << d;
}

TEST_F(TorchDevicesTest, TensorsAreSavedAndLoaded) {
  const torch::Tensor x = torch::randn({5}, torch::TensorOptions(device(1)));
  std::stringstream file;
  torch::save(x.cpu(), file);
  torch::Tensor loaded;
  torch::load(loaded, file, device(2));
  EXPECT_EQ(loaded.device(), device(2));
  EXPECT_EQ(gap(x, loaded), 0);
}

TEST_F(TorchDevicesTest, BadCountsAndDevicesAreRefused) {
  EXPECT_THAT(thrown_text([] { register_devices(0); }), HasSubstr("0 devices; expected 1 to 64"));
  EXPECT_THAT(thrown_text([] { register_devices(65); }), HasSubstr("65 devices"));
  EXPECT_THAT(thrown_text([] { register_devices(9); }),
              AllOf(HasSubstr("9 devices"), HasSubstr("registered 8")));
  EXPECT_NO_THROW(register_devices(2));
  EXPECT_THAT(thrown_text([] {
                torch_device({DeviceType::cpu, 8});
              }),
              AllOf(HasSubstr("cpu:8"), HasSubstr("register_devices")));
}

}  // namespace
}  // namespace tandem::libtorch
