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

struct BertOptions {
  std::int64_t layers = 12;
  std::int64_t width = 768;
  std::int64_t heads = 12;
  std::int64_t context = 512;  ///< longest sequence
  std::int64_t vocabulary = 30522;
  std::int64_t segments = 2;
  double dropout = 0.1;  ///< of embeddings, probabilities and what blocks add
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// BERT's sizes: "bert-base" or "bert-large".
///
/// @throws InvalidArgument  another name; the text lists these.
BertOptions bert_options(std::string_view name);

/// What an encoder says of sequences.
struct BertOutput {
  Tensor hidden;  ///< (N, L, width): of each token
  Tensor pooled;  ///< (N, width): of the first one, for classifiers
  TANDEM_FIELDS(hidden, pooled)
};

/// BERT's encoder: token, position and segment embeddings, post-norm blocks, and a pooler.
///
/// Weights start normal with deviation 0.02, biases zero.
/// @source Devlin et al., "BERT: Pre-training of deep bidirectional transformers", NAACL 2019.
class Bert : public Module {
 public:
  explicit Bert(const BertOptions& options = {});

  /// @param index     of integers (N, L), L at most the context.
  /// @param segments  of integers (N, L); undefined: all of segment 0.
  /// @param padding   bool (N, L), true for padding; undefined: none.
  BertOutput forward(const Tensor& index, const Tensor& segments = {}, const Tensor& padding = {});

  Embedding embed, position, segment;
  LayerNorm norm;
  Dropout drop;
  std::vector<TransformerBlock> blocks;
  Linear pooler;
  TANDEM_MODULE(Bert, embed, position, segment, norm, drop, blocks, pooler)

 private:
  std::int64_t context_;
};

}  // namespace tandem::nn::models
