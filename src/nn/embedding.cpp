// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/nn/embedding.hpp"

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/ops/embedding.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::nn {

Embedding::Embedding(std::int64_t num_embeddings,
                     std::int64_t embedding_dim,
                     EmbeddingOptions options)
    : padding_idx_(options.padding_idx) {
  TANDEM_CHECK(num_embeddings > 0 && embedding_dim > 0,
               "Embedding: sizes must be positive, got ",
               num_embeddings,
               " entries of ",
               embedding_dim);
  weight =
      randn({num_embeddings, embedding_dim}, {.dtype = options.dtype, .device = options.device});
  if (!padding_idx_) return;
  const std::int64_t entry = *padding_idx_ < 0 ? *padding_idx_ + num_embeddings : *padding_idx_;
  TANDEM_CHECK(entry >= 0 && entry < num_embeddings,
               "Embedding: padding_idx ",
               *padding_idx_,
               " is outside the ",
               num_embeddings,
               " entries");
  const autograd::NoGrad off;
  weight.select(0, entry).zero_();
}

Tensor Embedding::forward(const Tensor& index) {
  return embedding(index, weight, padding_idx_);
}

}  // namespace tandem::nn
