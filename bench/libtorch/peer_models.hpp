// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

// The models of bench/peers/peer_models.py, in libtorch.
namespace tandem::bench {

struct MlpImpl : torch::nn::Module {
  at::Tensor forward(const at::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers =
      register_module("layers",
                      torch::nn::Sequential(torch::nn::Linear(784, 1024),
                                            torch::nn::ReLU(),
                                            torch::nn::Linear(1024, 1024),
                                            torch::nn::ReLU(),
                                            torch::nn::Linear(1024, 10)));
};
TORCH_MODULE(Mlp);

struct CnnImpl : torch::nn::Module {
  CnnImpl() {
    std::int64_t channels = 3;
    for (const std::int64_t width : {32, 32, 0, 64, 64, 0, 128}) {
      if (width == 0) {
        layers->push_back(torch::nn::MaxPool2d(2));
        continue;
      }
      layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(channels, width, 3).padding(1)));
      layers->push_back(torch::nn::BatchNorm2d(width));
      layers->push_back(torch::nn::ReLU());
      channels = width;
    }
    layers->push_back(torch::nn::AdaptiveAvgPool2d(1));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(channels, 10));
  }
  at::Tensor forward(const at::Tensor& x) { return layers->forward(x); }
  torch::nn::Sequential layers = register_module("layers", torch::nn::Sequential());
};
TORCH_MODULE(Cnn);

struct GptSizes {
  std::int64_t layers = 4, width = 256, heads = 4, length = 128, vocabulary = 256;
};

/// One projection for queries, keys and values, and PyTorch's fused attention.
struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(const GptSizes& sizes)
      : heads(sizes.heads),
        norm1(register_module("norm1", torch::nn::LayerNorm(normed(sizes)))),
        norm2(register_module("norm2", torch::nn::LayerNorm(normed(sizes)))),
        qkv(register_module("qkv", torch::nn::Linear(sizes.width, 3 * sizes.width))),
        out(register_module("out", torch::nn::Linear(sizes.width, sizes.width))),
        fc(register_module("fc", torch::nn::Linear(sizes.width, 4 * sizes.width))),
        proj(register_module("proj", torch::nn::Linear(4 * sizes.width, sizes.width))) {}
  static torch::nn::LayerNormOptions normed(const GptSizes& sizes) {
    return torch::nn::LayerNormOptions({sizes.width});
  }
  at::Tensor forward(at::Tensor x) {
    std::vector<at::Tensor> parts = qkv(norm1(x)).chunk(3, 2);
    for (at::Tensor& part : parts)
      part = part.unflatten(2, {heads, -1}).transpose(1, 2);
    const at::Tensor y =
        at::scaled_dot_product_attention(parts[0], parts[1], parts[2], {}, 0.0, /*is_causal=*/true);
    x = x + out(y.transpose(1, 2).flatten(2));
    return x + proj(at::gelu(fc(norm2(x)), "tanh"));
  }
  std::int64_t heads;
  torch::nn::LayerNorm norm1, norm2;
  torch::nn::Linear qkv, out, fc, proj;
};
TORCH_MODULE(Block);

struct GptImpl : torch::nn::Module {
  explicit GptImpl(const GptSizes& s = {})
      : embed(register_module("embed", torch::nn::Embedding(s.vocabulary, s.width))),
        position(register_module("position", torch::nn::Embedding(s.length, s.width))),
        norm(register_module("norm", torch::nn::LayerNorm(BlockImpl::normed(s)))) {
    for (std::int64_t i = 0; i < s.layers; ++i)
      blocks->push_back(Block(s));
    const torch::NoGradGuard off;
    embed->weight.normal_(0, 0.02);
    position->weight.normal_(0, 0.02);
  }
  /// The head is the embedding's table.
  at::Tensor forward(const at::Tensor& index) {
    const at::Tensor x = embed(index) + position->weight.slice(0, 0, index.size(1));
    return torch::linear(norm(blocks->forward(x)), embed->weight);
  }
  torch::nn::Embedding embed, position;
  torch::nn::LayerNorm norm;
  torch::nn::Sequential blocks = register_module("blocks", torch::nn::Sequential());
};
TORCH_MODULE(Gpt);

}  // namespace tandem::bench
