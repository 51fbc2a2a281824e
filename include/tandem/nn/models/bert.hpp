// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
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
  double dropout = 0.1;    ///< of embeddings, probabilities and what blocks add
  bool pooler = true;      ///< whether the encoder ends in a pooler, for classifiers
  bool recompute = false;  ///< backward computes the blocks' activations again (see checkpoint)
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
  Tensor pooled;  ///< (N, width): of the first one, for classifiers; undefined without a pooler
  TANDEM_FIELDS(hidden, pooled)
};

/// BERT's encoder: token, position and segment embeddings, post-norm blocks in which all tokens see
/// each other, and a pooler.
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
  std::optional<Linear> pooler;
  TANDEM_MODULE(Bert, embed, position, segment, norm, drop, blocks, pooler)

 private:
  std::int64_t context_;
  bool recompute_;
};

/// BERT with the head that it is pretrained with, which says what each token is: a linear layer
/// with GELU, a norm, and a decoder whose weight is the token embedding's, as BertForMaskedLM of
/// Hugging Face. It has no pooler. Its other parts are those of Bert, under the same names.
///
/// Weights start normal with deviation 0.02, biases zero.
/// @source Devlin et al., "BERT: Pre-training of deep bidirectional transformers", NAACL 2019.
class BertMaskedLm : public Bert {
 public:
  /// @param options  their `pooler` does not count.
  explicit BertMaskedLm(const BertOptions& options = {});

  /// @param index     of integers (N, L), L at most the context.
  /// @param segments  of integers (N, L); undefined: all of segment 0.
  /// @param padding   bool (N, L), true for padding; undefined: none.
  /// @return (N, L, vocabulary): logits.
  ///
  /// The loss of labels (N, L): `cross_entropy(net(x).flatten(0, 1), labels.flatten())`, where a
  /// token that was not masked has the label to be ignored (CrossEntropyOptions::ignore_index).
  /// @throws InvalidArgument  the sequence is longer than the context, or an index is outside of
  /// the vocabulary.
  Tensor forward(const Tensor& index, const Tensor& segments = {}, const Tensor& padding = {});

  Linear transform;
  LayerNorm transform_norm;
  Linear decoder;
  TANDEM_MODULE(BertMaskedLm,
                embed,
                position,
                segment,
                norm,
                drop,
                blocks,
                transform,
                transform_norm,
                decoder)
};

}  // namespace tandem::nn::models
