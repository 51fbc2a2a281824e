// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "tandem/train/generate.hpp"

#include <functional>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tandem/train/check_gpt.hpp"
#include "tandem/train/checkpoint.hpp"

#include "cli/choices/json_choice.hpp"
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/limits.hpp"
#include "cli/models.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"
#include "train/checkpoint_reader.hpp"

namespace tandem::cli {
namespace {

struct GenerateRequest {
  std::string checkpoint;
  std::optional<std::string> prompt;
  std::int64_t tokens = 500;
  double temperature = 0.8;
  std::optional<std::int64_t> top_k;
  std::uint64_t seed = 0;
  JsonChoice json;

  void add_flags(CLI::App& app);
  int run() const;
};

void GenerateRequest::add_flags(CLI::App& app) {
  begin_subject(app, Subject::checkpoints);
  app.add_option(
         "--checkpoint", checkpoint, "checkpoint of a model that 'train --data text' trained")
      ->required();
  begin_subject(app, Subject::text);
  app.add_option("--prompt", prompt, "text to continue");
  app.add_option("--tokens", tokens, "number of characters to write")
      ->check(at_least(0))
      ->capture_default_str();
  app.add_option("--temperature",
                 temperature,
                 "how freely characters are drawn: 0 always takes the likeliest, 1 draws as the "
                 "model was trained")
      ->check(zero_or_more())
      ->capture_default_str();
  app.add_option(
         "--top-k", top_k, "number of the likeliest characters to draw among (default: all)")
      ->check(at_least(1));
  app.add_option("--seed", seed, "seed for drawing the characters")
      ->check(seed_number())
      ->capture_default_str();
  json.add_flags(app);
}

/// The model of a checkpoint, ready to speak.
nn::models::Gpt load(const std::string& path, const training::RunState& state) {
  if (state.vocabulary.empty()) {
    throw InvalidArgument(
        fmt::format("checkpoint {}: its model is '{}', which is not a model of text; train one "
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
  const training::CheckpointReader saved(path);
  if (const training::StoredTensor* embed = saved.find("embed.weight"))
    options.dtype = embed->entry->dtype;
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

/// Goes on from `prompt`. @param on_character  is told each character as it comes.
void generate(const GenerateRequest& request,
              nn::models::Gpt& net,
              const datasets::Vocabulary& vocabulary,
              const std::string& prompt,
              const std::function<void(const std::string&)>& on_character) {
  training::generate([&net](const Tensor& tokens) { return net(tokens); },
                     encode(vocabulary, prompt),
                     {.tokens = request.tokens,
                      .context = net.options().context,
                      .temperature = request.temperature,
                      .top_k = request.top_k,
                      .seed = request.seed},
                     [&](std::int64_t token) {
                       on_character(vocabulary.character(token));
                       return true;
                     });
}

int GenerateRequest::run() const {
  check_limits(1);
  check_files({{"--checkpoint", checkpoint, FileUse::read}, json.given_file()});
  const training::RunState state = training::read_run_state(checkpoint);
  nn::models::Gpt net = load(checkpoint, state);
  const datasets::Vocabulary vocabulary(state.vocabulary);
  const std::string start = prompt.value_or(vocabulary.character(0));
  static_cast<void>(encode(vocabulary, start));  // before anything is printed
  if (json.leaves_text() && prompt) console::print_text(console::shown(*prompt));
  std::string text;
  generate(*this, net, vocabulary, start, [&](const std::string& character) {
    text += character;
    if (!json.leaves_text()) return;
    console::print_text(console::shown(character));
    console::flush();  // for whoever reads it meanwhile
  });
  if (json.leaves_text()) console::print("\n");
  json.write([&] {
    return nlohmann::json{{"schema_version", 1},
                          {"model", state.model},
                          {"step", state.step},
                          {"prompt", start},
                          {"text", text},
                          {"tokens", tokens},
                          {"seed", seed}};
  });
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<GenerateRequest>({.name = "generate",
                                        .summary = "write text with a trained model",
                                        .purpose = Purpose::train});
}

}  // namespace tandem::cli
