// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tandem/tensor/tensor.hpp"

namespace tandem::training {

struct GenerateOptions {
  std::int64_t tokens = 256;   ///< number of tokens to generate
  std::int64_t context = 128;  ///< the model sees at most this many of the last tokens
  double temperature = 1;      ///< divides the logits; 0: always take the likeliest token
  std::optional<std::int64_t> top_k = {};  ///< draw from this many likeliest tokens; not set: all
  std::uint64_t seed = 0;
};

/// Continues a text. Draws one token after the other from a model's prediction of the next.
///
/// Runs off the tape. The caller sets evaluation mode. Equal seeds give equal tokens.
/// @param model     maps tokens (1, L) of i64, with L at most the context, to logits (1, L, C)
/// @param prompt    at least one token
/// @param on_token  called with each token as it is made; returning false ends the generation
/// @throws InvalidArgument  if an option is out of range, the prompt is empty, or logits are not
///                          finite.
void generate(const std::function<Tensor(const Tensor& tokens)>& model,
              const std::vector<std::int32_t>& prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& on_token);

}  // namespace tandem::training
