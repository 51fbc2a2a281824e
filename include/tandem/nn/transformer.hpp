// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tandem/nn/attention.hpp"
#include "tandem/nn/dropout.hpp"
#include "tandem/nn/layer_norm.hpp"
#include "tandem/nn/linear.hpp"

namespace tandem::nn {

/// Where a block normalises.
enum class NormPlace : std::uint8_t {
  pre,   ///< the inputs of attention and of the hidden layer, as GPT-2
  post,  ///< the sum after each of them, as BERT and Vaswani et al.
};

struct TransformerBlockOptions {
  std::int64_t hidden = 0;  ///< width of the hidden layer; 0: four times the block's width
  NormPlace norm = NormPlace::pre;
  bool causal = false;
  Gelu gelu = Gelu::exact;
  double dropout = 0;
  double attention_dropout = 0;
  double eps = 1e-5;  ///< the eps of the layer norms
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// Self-attention, then a hidden layer with GELU. The result of each is added to its input.
class TransformerBlock : public Module {
 public:
  TransformerBlock(std::int64_t width, std::int64_t heads, TransformerBlockOptions options = {});

  /// @param x  (N, L, width)
  Tensor forward(const Tensor& x, const AttentionMasks& masks = {});

  LayerNorm norm1;
  MultiheadAttention attention;
  LayerNorm norm2;
  Linear fc, proj;
  Dropout attention_drop, drop;
  TANDEM_MODULE(TransformerBlock, norm1, attention, norm2, fc, proj, attention_drop, drop)

 private:
  Tensor feed_forward(const Tensor& x);

  NormPlace norm_;
  Gelu gelu_;
};

}  // namespace tandem::nn
