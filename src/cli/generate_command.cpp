// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/io/safetensors.hpp"
#include "tandem/train/check_gpt.hpp"
#include "tandem/train/checkpoint.hpp"
#include "tandem/train/generate.hpp"

#include "cli/commands.hpp"
#include "cli/console.hpp"
#include "cli/limits.hpp"
#include "cli/setup.hpp"

namespace tandem::cli {
namespace {

/// The model of a checkpoint, ready to speak.
nn::models::Gpt load(const std::string& path, const training::RunState& state) {
  if (state.vocabulary.empty()) {
    throw InvalidArgument(fmt::format(
        "checkpoint {}: it is of '{}', which knows no characters; train a model of text "
        "(tandem train --data text --checkpoint FILE)",
        path,
        state.model));
  }
  nn::models::GptOptions options;
  try {
    options = gpt_options(state.sizes);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(fmt::format("checkpoint {}: {}", path, e.what()));
  }
  const SafetensorsFile file(path);
  if (const SafetensorsEntry* embed = file.find("model.embed.weight")) options.dtype = embed->dtype;
  training::check_gpt(path, options);
  nn::models::Gpt net(options);
  training::load_model(path, net);
  net.eval();
  return net;
}

/// The characters to go on from. @throws UsageError  the model does not know one.
std::vector<std::int32_t> encode(const datasets::Vocabulary& vocabulary,
                                 const std::string& prompt) {
  try {
    return vocabulary.encode(prompt);
  } catch (const InvalidArgument& e) {
    throw UsageError(fmt::format("--prompt: {}", e.what()));
  }
}

}  // namespace

int run_generate(const GenerateRequest& request) {
  check_limits(1);
  const training::RunState state = training::read_run_state(request.checkpoint);
  nn::models::Gpt net = load(request.checkpoint, state);
  const datasets::Vocabulary vocabulary(state.vocabulary);
  const std::string prompt = request.prompt.value_or(vocabulary.character(0));
  const std::vector<std::int32_t> start = encode(vocabulary, prompt);
  if (prompt.empty()) throw UsageError("--prompt is empty; give a character, or leave it out");
  std::string text;
  if (!request.json && request.prompt) console::print_text(console::shown(prompt));
  training::generate([&net](const Tensor& tokens) { return net(tokens); },
                     start,
                     {.tokens = request.tokens,
                      .context = net.options().context,
                      .temperature = request.temperature,
                      .top_k = request.top_k,
                      .seed = request.seed},
                     [&](std::int64_t token) {
                       const std::string& character = vocabulary.character(token);
                       text += character;
                       if (request.json) return true;
                       console::print_text(console::shown(character));
                       console::flush();  // for whoever reads it meanwhile
                       return true;
                     });
  if (request.json) {
    console::print("{}\n",
                   nlohmann::json{{"schema_version", 1},
                                  {"model", state.model},
                                  {"step", state.step},
                                  {"prompt", prompt},
                                  {"text", text},
                                  {"tokens", request.tokens},
                                  {"seed", request.seed}}
                       .dump(2));
  } else {
    console::print("\n");
  }
  return 0;
}

}  // namespace tandem::cli
