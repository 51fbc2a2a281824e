// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
//
// A program of PyTorch alone: a small network learns to read the digits of MNIST. Nothing here is
// tandem's; mnist_data_parallel.cpp is the same program on four devices.
//
//   images (128, 1, 28, 28) --> Linear --> ReLU --> Linear --> log_softmax --> nll_loss
//                                   SGD <-- gradients <-- backward <-------------+
//
// It reads MNIST's four files from ./data. make_mnist.py writes files of that form from the digits
// in examples/data, for those who do not have them; the output below is for these.
//
// Expected output:
//   batches 1 to 100: loss 0.7905
//   batches 101 to 200: loss 0.1908
//   batches 201 to 300: loss 0.1220
//   batches 301 to 400: loss 0.0914
//   test accuracy 0.90

#include <cstdio>
#include <utility>

#include <torch/torch.h>

namespace {

struct NetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& images) {
    const torch::Tensor hidden = torch::relu(first(images.flatten(1)));
    return torch::log_softmax(second(hidden), 1);
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(784, 64));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(64, 10));
};
TORCH_MODULE(Net);

using torch::data::datasets::MNIST;

/// The images and labels of one of MNIST's two sets, normalised and in batches of 128.
template <class Sampler>
auto load(MNIST::Mode mode) {
  auto set = MNIST("./data", mode)
                 .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                 .map(torch::data::transforms::Stack<>());
  return torch::data::make_data_loader<Sampler>(std::move(set), 128);
}

}  // namespace

int main() {
  torch::manual_seed(1);
  const auto train = load<torch::data::samplers::RandomSampler>(MNIST::Mode::kTrain);
  const auto test = load<torch::data::samplers::SequentialSampler>(MNIST::Mode::kTest);

  Net net;
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));

  int batches = 0;
  double total = 0;
  for (const auto& batch : *train) {
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nll_loss(net(batch.data), batch.target);
    loss.backward();
    optimizer.step();
    total += loss.item<double>();
    if (++batches % 100 != 0) continue;
    std::printf("batches %d to %d: loss %.4f\n", batches - 99, batches, total / 100);
    total = 0;
  }

  net->eval();
  const torch::NoGradGuard off;
  double right = 0, rows = 0;
  for (const auto& batch : *test) {
    right += net(batch.data).argmax(1).eq(batch.target).sum().item<double>();
    rows += static_cast<double>(batch.target.size(0));
  }
  std::printf("test accuracy %.2f\n", right / rows);
}
