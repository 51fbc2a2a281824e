// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

struct EmbeddingOptions {
  /// A row that starts at zero and is not trained; negative values count from the end.
  std::optional<std::int64_t> padding_idx = std::nullopt;
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// A table of vectors that are looked up by index. Its initial values are standard normal.
///
/// `head.weight = embed.weight` ties a head to the table.
class Embedding : public Module {
 public:
  /// @throws InvalidArgument  if a size is below one, or padding_idx is outside the table.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options = {});

  /// @param index  integers, any shape
  /// @return       (..., embedding_dim)
  Tensor forward(const Tensor& index);

  Parameter weight;  ///< (num_embeddings, embedding_dim)
  TANDEM_MODULE(Embedding, weight)

 private:
  std::optional<std::int64_t> padding_idx_;
};

}  // namespace tandem::nn
