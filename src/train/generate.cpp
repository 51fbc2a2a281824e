// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/generate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "tandem/autograd/autograd.hpp"
#include "tandem/core/check.hpp"
#include "tandem/tensor/factories.hpp"

namespace tandem::training {
namespace {

/// Uniform in [0, 1), the same on every machine (std::uniform_real_distribution need not be).
double uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11) * 0x1p-53;
}

/// Draws an index with a probability in proportion to exp(logit / temperature).
std::int64_t draw(const std::vector<double>& logits,
                  const GenerateOptions& options,
                  std::mt19937_64& engine) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return logits[i]; });
  if (options.temperature == 0) return static_cast<std::int64_t>(order.front());
  const auto all = static_cast<std::int64_t>(order.size());
  order.resize(static_cast<std::size_t>(std::min(options.top_k.value_or(all), all)));
  std::vector<double> weights;
  for (const std::size_t i : order)
    weights.push_back(std::exp((logits[i] - logits[order.front()]) / options.temperature));
  double left = uniform(engine) * std::accumulate(weights.begin(), weights.end(), 0.0);
  std::size_t i = 0;
  while (i + 1 < weights.size() && left >= weights[i])
    left -= weights[i++];
  return static_cast<std::int64_t>(order[i]);
}

}  // namespace

void generate(const std::function<Tensor(const Tensor& tokens)>& model,
              const std::vector<std::int32_t>& prompt,
              const GenerateOptions& options,
              const std::function<bool(std::int64_t token)>& on_token) {
  TANDEM_CHECK(!prompt.empty(), "generate: the prompt is empty; give at least one character");
  TANDEM_CHECK(options.tokens >= 0 && options.context > 0,
               "generate: tokens is ",
               options.tokens,
               " and context is ",
               options.context,
               "; give 0 or more tokens, and a context above 0");
  TANDEM_CHECK(options.temperature >= 0 && std::isfinite(options.temperature),
               "generate: the temperature is ",
               options.temperature,
               "; it must be 0 or more");
  TANDEM_CHECK(!options.top_k || *options.top_k > 0,
               "generate: top_k is ",
               options.top_k.value_or(0),
               "; it must be 1 or more");
  const autograd::NoGrad off;
  std::mt19937_64 engine(options.seed);
  std::vector<std::int64_t> tokens(prompt.begin(), prompt.end());
  for (std::int64_t made = 0; made < options.tokens; ++made) {
    const auto seen =
        std::min<std::int64_t>(static_cast<std::int64_t>(tokens.size()), options.context);
    const std::span<const std::int64_t> window =
        std::span(tokens).last(static_cast<std::size_t>(seen));
    const Tensor logits = model(from_host(window, {1, seen})).select(1, -1);
    const std::vector<double> last = logits.to_doubles();
    TANDEM_CHECK(std::ranges::all_of(last, [](double l) { return std::isfinite(l); }),
                 "generate: the model's logits are not finite; did its training diverge?");
    tokens.push_back(draw(last, options, engine));
    if (!on_token(tokens.back())) return;
  }
}

}  // namespace tandem::training
