// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tandem/nn/module.hpp"

namespace tandem::nn {

struct EmbeddingOptions {
  std::optional<std::int64_t> padding_idx = std::nullopt;  ///< starts at zero and is not trained
  DType dtype = DType::f32;
  Device device = get_default_device();
};

/// A table of vectors that indices look up; standard normal at the start.
///
/// A head that shares it is tied by `head.weight = embed.weight`.
class Embedding : public Module {
 public:
  /// @throws InvalidArgument  a size below one, or a padding_idx outside of the table.
  Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, EmbeddingOptions options = {});

  /// @param index  of integers, any shape. @return (..., embedding_dim).
  Tensor forward(const Tensor& index);

  Parameter weight;  ///< (num_embeddings, embedding_dim)
  TANDEM_MODULE(Embedding, weight)

 private:
  std::optional<std::int64_t> padding_idx_;
};

}  // namespace tandem::nn
