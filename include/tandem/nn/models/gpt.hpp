// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tandem/nn/dropout.hpp"
#include "tandem/nn/embedding.hpp"
#include "tandem/nn/layer_norm.hpp"
#include "tandem/nn/linear.hpp"
#include "tandem/nn/transformer.hpp"

namespace tandem::nn::models {

struct GptOptions {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t context = 1024;  ///< longest sequence
  std::int64_t vocabulary = 50257;
  double dropout = 0.1;    ///< of embeddings, probabilities and what blocks add
  bool tied = true;        ///< the head's weight is the token embedding's
  bool recompute = false;  ///< backward computes the blocks' activations again (see checkpoint)
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// GPT-2's sizes: "gpt2", "gpt2-medium", "gpt2-large" or "gpt2-xl".
///
/// @throws InvalidArgument  another name; the text lists these.
GptOptions gpt_options(std::string_view name);

/// GPT-2: token and position embeddings, pre-norm blocks with causal attention and GELU by tanh, a
/// last norm, and a head without bias.
///
/// Weights start normal with deviation 0.02, those that end a residual branch with 0.02 / sqrt(2
/// layers), biases zero.
/// @source Radford et al., "Language models are unsupervised multitask learners", 2019.
class Gpt : public Module {
 public:
  explicit Gpt(const GptOptions& options = {});

  /// @param index  of integers (N, L), L at most the context. @return (N, L, vocabulary): logits.
  ///
  /// The loss of a batch: `cross_entropy(net(x).flatten(0, 1), next.flatten())`.
  /// @throws InvalidArgument  the sequence is longer than the context, or an index is outside of
  /// the vocabulary.
  Tensor forward(const Tensor& index);

  const GptOptions& options() const noexcept { return options_; }

  Embedding embed, position;
  Dropout drop;
  std::vector<TransformerBlock> blocks;
  LayerNorm norm;
  Linear head;
  TANDEM_MODULE(Gpt, embed, position, drop, blocks, norm, head)

 private:
  GptOptions options_;
};

}  // namespace tandem::nn::models
