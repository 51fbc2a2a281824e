// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

// Modules and optimizers of PyTorch on virtual devices give what they give on the host.

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "libtorch/registered_devices.hpp"

namespace tandem::libtorch::test {
namespace {

using torch::nn::Sequential;

constexpr int kThreads = 4;

class DeviceModulesTest : public RegisteredDevicesTest {};

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

TEST_F(DeviceModulesTest, ModulesGiveWhatTheyGiveOnTheHost) {
  const torch::NoGradGuard off;  // cloning is of values
  std::vector<Case> all = cases();
  for (const auto& more : {activations(), spatial()})
    all.insert(all.end(), more.begin(), more.end());
  EXPECT_GE(all.size(), 40u);
  for (const Case& c : all) {
    for (const auto& [dtype, tolerance] :
         {std::pair{torch::kFloat, 1e-6}, {torch::kDouble, 1e-12}}) {
      SCOPED_TRACE(c.name + ' ' + c10::toString(dtype));
      Sequential host = c.make();
      host->to(dtype);
      Sequential there(
          std::dynamic_pointer_cast<torch::nn::SequentialImpl>(host->clone(device(1))));
      const torch::AutoGradMode on(true);
      torch::Tensor x = input_of(c, dtype);
      torch::Tensor moved = x.detach().to(device(1));
      if (!c.takes_integers) {
        x.requires_grad_();
        moved.requires_grad_();
      }
      const torch::Tensor y = host->forward(x), z = there->forward(moved);
      EXPECT_EQ(z.device(), device(1));
      EXPECT_LE(gap(y, z), tolerance);
      y.square().mean().backward();
      z.square().mean().backward();
      for (std::size_t p = 0; p < host->parameters().size(); ++p) {
        const torch::Tensor grad = there->parameters()[p].grad();
        EXPECT_EQ(grad.device(), device(1));
        EXPECT_LE(gap(host->parameters()[p].grad(), grad), tolerance);
      }
      if (!c.takes_integers) {
        EXPECT_LE(gap(x.grad(), moved.grad()), tolerance);
      }
      for (std::size_t b = 0; b < host->buffers().size(); ++b)
        EXPECT_LE(gap(host->buffers()[b], there->buffers()[b]), tolerance) << "buffer " << b;
    }
  }
}

/// An LSTM and a GRU in two directions and two layers.
void expect_recurrent_modules(torch::Dtype dtype, double tolerance) {
  torch::nn::LSTM lstm(
      torch::nn::LSTMOptions(4, 5).batch_first(true).bidirectional(true).num_layers(2));
  torch::nn::GRU gru(torch::nn::GRUOptions(10, 3).batch_first(true).bidirectional(true));
  lstm->to(dtype);
  gru->to(dtype);
  const torch::Tensor x = torch::randn({2, 6, 4}, dtype);
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
    EXPECT_LE(gap(host[i], there[i]), tolerance) << i;
}

TEST_F(DeviceModulesTest, RecurrentModulesToo) {
  expect_recurrent_modules(torch::kFloat, 1e-6);
  expect_recurrent_modules(torch::kDouble, 1e-12);
}

TEST_F(DeviceModulesTest, AttentionWithAMaskToo) {
  for (const auto& [dtype, tolerance] : {std::pair{torch::kFloat, 1e-6}, {torch::kDouble, 1e-12}}) {
    torch::nn::MultiheadAttention host(8, 2), there(8, 2);
    {
      const torch::NoGradGuard off;
      host->to(dtype);
      there->to(dtype);
      for (std::size_t p = 0; p < host->parameters().size(); ++p)
        there->parameters()[p].copy_(host->parameters()[p]);
    }
    there->to(device(1));
    const torch::Tensor x = torch::randn({5, 3, 8}, dtype);
    const torch::Tensor mask = torch::ones({5, 5}, torch::kBool).triu(1);
    const auto run = [&, dtype = dtype](torch::nn::MultiheadAttention& m, torch::Device d) {
      const torch::Tensor in = x.to(d);
      const torch::Tensor y = std::get<0>(m->forward(in, in, in, {}, true, mask.to(d)));
      y.square().mean().backward();
      std::vector<torch::Tensor> all{y.detach().cpu()};
      for (const torch::Tensor& p : m->parameters())
        all.push_back(p.grad().cpu());
      return all;
    };
    const auto a = run(host, torch::kCPU), b = run(there, device(1));
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_LE(gap(a[i], b[i]), tolerance) << i;
  }
}

template <class Optimizer, class Options>
void check_optimizer(const Options& options, torch::Dtype dtype, double tolerance) {
  torch::nn::Linear host(8, 8), there(8, 8);
  host->to(dtype);
  there->to(dtype);
  {
    const torch::NoGradGuard off;
    for (std::size_t p = 0; p < 2; ++p)
      there->parameters()[p].copy_(host->parameters()[p]);
  }
  there->to(device(3));
  Optimizer of_host(host->parameters(), options), of_there(there->parameters(), options);
  for (int i = 0; i < 3; ++i) {
    const torch::Tensor x = torch::randn({4, 8}, dtype);
    const auto step = [](auto& module, auto& optimizer, const torch::Tensor& in) {
      optimizer.zero_grad();
      module->forward(in).square().mean().backward();
      optimizer.step();
    };
    step(host, of_host, x);
    step(there, of_there, x.to(device(3)));
  }
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_LE(gap(host->parameters()[p], there->parameters()[p]), tolerance);
}

TEST_F(DeviceModulesTest, OptimizersStepAsOnTheHost) {
  for (const auto& [dtype, tolerance] : {std::pair{torch::kFloat, 1e-6}, {torch::kDouble, 1e-12}}) {
    check_optimizer<torch::optim::SGD>(
        torch::optim::SGDOptions(0.1).momentum(0.9), dtype, tolerance);
    check_optimizer<torch::optim::Adam>(torch::optim::AdamOptions(0.01), dtype, tolerance);
    check_optimizer<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01), dtype, tolerance);
  }
}

TEST_F(DeviceModulesTest, ThreadsTrainOnDevicesOfTheirOwn) {
  const torch::Tensor x = torch::randn({8, 16});
  const torch::nn::Linear original(16, 16);
  std::vector<std::size_t> before;
  for (int d = 0; d < kThreads; ++d)
    before.push_back(in_use(d));
  std::vector<torch::Tensor> weights(kThreads);
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
  for (int d = 0; d < kThreads; ++d)
    threads.emplace_back([&, d] { weights[static_cast<std::size_t>(d)] = train(device(d)); });
  for (std::thread& t : threads)
    t.join();
  const torch::Tensor wanted = train(torch::kCPU);
  for (const torch::Tensor& w : weights)
    EXPECT_LE(gap(wanted, w), 1e-6);
  for (int d = 0; d < kThreads; ++d)
    EXPECT_EQ(in_use(d), before[static_cast<std::size_t>(d)]) << d;
}

}  // namespace
}  // namespace tandem::libtorch::test
