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
  std::int64_t tokens = 256;   ///< to make
  std::int64_t context = 128;  ///< of the model: it sees so many of the last tokens
  double temperature = 1;      ///< logits are divided by it; 0: always the likeliest token
  std::optional<std::int64_t> top_k = {};  ///< draws among so many of the likeliest; none: all
  std::uint64_t seed = 0;
};

/// Goes on with a text: draws one token after the other from what a model says of the next.
///
/// Off the tape; the caller sets evaluation mode. Equal seeds give equal tokens.
/// @param model     tokens (1, L) of i64, L at most the context -> logits (1, L, C).
/// @param prompt    one token at least.
/// @param on_token  called with each token as it is made; false ends.
/// @throws InvalidArgument  an option out of range, no prompt, or logits that are not finite.
void generate(const std::function<Tensor(const Tensor& tokens)>& model,
              const std::vector<std::int32_t>& prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& on_token);

}  // namespace tandem::training
