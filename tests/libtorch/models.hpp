// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "tandem/libtorch/data_parallel.hpp"
#include "tandem/parallel/chunks.hpp"

// Programs of PyTorch for the tests: modules, batches, and one device to compare with.
namespace tandem::libtorch::test {

struct Batch {
  at::Tensor x, y;
  TANDEM_FIELDS(x, y)
};

/// A module as tutorials write them: it has no clone().
struct MlpImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return second(torch::tanh(first(x))); }
  static Batch batch(std::int64_t rows) {
    return {torch::randn({rows, 6}, torch::kDouble), torch::randn({rows, 3}, torch::kDouble)};
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(6, 10));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(10, 3));
};
TORCH_MODULE(Mlp);

struct CnnImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = torch::relu(norm(conv(x)));
    return head(torch::max_pool2d(h, 2).flatten(1));
  }
  static Batch batch(std::int64_t rows) {
    return {torch::randn({rows, 2, 6, 6}, torch::kDouble), torch::randn({rows, 3}, torch::kDouble)};
  }
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 4, 3).padding(1)));
  torch::nn::GroupNorm norm = register_module("norm", torch::nn::GroupNorm(2, 4));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(36, 3));
};
TORCH_MODULE(Cnn);

/// A convolution and a layer of rows, both with batch norm.
struct NormedCnnImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = torch::relu(norm(conv(x)));
    return head(torch::tanh(rows(torch::max_pool2d(h, 2).flatten(1))));
  }
  static Batch batch(std::int64_t count) { return CnnImpl::batch(count); }
  torch::nn::Conv2d conv =
      register_module("conv", torch::nn::Conv2d(torch::nn::Conv2dOptions(2, 4, 3).padding(1)));
  torch::nn::BatchNorm2d norm = register_module("norm", torch::nn::BatchNorm2d(4));
  torch::nn::BatchNorm1d rows = register_module("rows", torch::nn::BatchNorm1d(36));
  torch::nn::Linear head = register_module("head", torch::nn::Linear(36, 3));
};
TORCH_MODULE(NormedCnn);

/// One block of a transformer over tokens, without dropout. It has a clone().
struct GptImpl : torch::nn::Cloneable<GptImpl> {
  GptImpl() { reset(); }
  void reset() override {
    tokens = register_module("tokens", torch::nn::Embedding(12, 8));
    block = register_module(
        "block",
        torch::nn::TransformerEncoderLayer(
            torch::nn::TransformerEncoderLayerOptions(8, 2).dim_feedforward(16).dropout(0)));
    head = register_module("head", torch::nn::Linear(8, 3));
  }
  at::Tensor forward(const at::Tensor& x) {
    return head(block(tokens(x).transpose(0, 1)).transpose(0, 1).select(1, -1));
  }
  static Batch batch(std::int64_t rows) {
    return {torch::randint(12, {rows, 5}), torch::randn({rows, 3}, torch::kDouble)};
  }
  torch::nn::Embedding tokens = nullptr;
  torch::nn::TransformerEncoderLayer block = nullptr;
  torch::nn::Linear head = nullptr;
};
TORCH_MODULE(Gpt);

/// Dropout after two layers, one of them in place, and one that is only a function.
struct DropoutsImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor h = inner(torch::tanh(first(x)));
    return torch::dropout(outer(second(h)), 0.25, is_training());
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(6, 10));
  torch::nn::Dropout inner = register_module("inner", torch::nn::Dropout(0.5));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(10, 3));
  torch::nn::Dropout outer =
      register_module("outer", torch::nn::Dropout(torch::nn::DropoutOptions(0.3).inplace(true)));
};
TORCH_MODULE(Dropouts);

/// Two modules that `make` makes, in f64 and with the same values.
template <class Make>
auto twins_of(const Make& make) {
  std::pair both(make(), make());
  both.first->to(torch::kDouble);
  both.second->to(torch::kDouble);
  const torch::NoGradGuard off;
  const auto from = both.first->parameters(), to = both.second->parameters();
  for (std::size_t i = 0; i < from.size(); ++i)
    to[i].copy_(from[i]);
  return both;
}
/// Two modules of one class.
template <class Holder>
std::pair<Holder, Holder> twins() {
  return twins_of([] { return Holder(); });
}

/// The squared error of a replica, or of one device, as a mean over rows.
constexpr auto squared_error = [](auto& net, const Batch& batch) {
  return torch::mse_loss(net.forward(batch.x), batch.y);
};

/// What a module gives for `x` by itself, wherever the two are.
template <class Module>
at::Tensor forward_alone(Module& module, const at::Tensor& x) {
  return module->forward(x.to(module->parameters()[0].device())).cpu();
}

/// The largest difference between two lists of tensors; INFINITY if one is longer.
inline double difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, (a[i].detach().cpu() - b[i].detach().cpu()).abs().max().item<double>());
  return worst;
}
/// The largest difference between the parameters, the buffers, or the gradients, of two modules.
inline double difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  return difference(a.parameters(), b.parameters());
}
inline double buffer_difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  return difference(a.buffers(), b.buffers());
}
inline double gradient_difference(const torch::nn::Module& a, const torch::nn::Module& b) {
  double worst = 0;
  const auto p = a.parameters(), q = b.parameters();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i].grad().defined() != q[i].grad().defined()) return INFINITY;
    if (!p[i].grad().defined()) continue;
    worst = std::max(worst, (p[i].grad().cpu() - q[i].grad().cpu()).abs().max().item<double>());
  }
  return worst;
}

/// Chunks of a batch at random, some of them empty.
inline std::vector<std::int64_t> random_chunks(std::int64_t rows, int devices, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(devices));
  for (std::int64_t r = 0; r < rows; ++r)
    ++sizes[generator() % sizes.size()];
  return sizes;
}

}  // namespace tandem::libtorch::test
