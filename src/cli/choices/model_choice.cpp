// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/model_choice.hpp"

#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"

#include "cli/models.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

using tandem::detail::concat;

namespace {

const std::map<std::string, BatchNormSync> kBatchNorms{
    {"synchronised", BatchNormSync::synchronised},
    {"merged", BatchNormSync::merged},
    {"per-replica", BatchNormSync::per_replica}};

}  // namespace

void ModelChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::model);
  app.add_option("--model", name, "model to train (default cnn-small, or gpt for a text)")
      ->check(CLI::IsMember(model_names()));
  const auto add_size = [&](const char* option, std::int64_t& size, const char* what) {
    app.add_option(option, size, what)
        ->check(at_least(1))
        ->each([this, option](const std::string&) { gpt_option = gpt_size = option; })
        ->capture_default_str();
  };
  add_size("--layers", gpt.layers, "number of gpt's blocks");
  add_size("--width", gpt.width, "width of gpt's blocks");
  add_size("--heads", gpt.heads, "number of gpt's attention heads, which divides its width");
  app.add_option("--context",
                 gpt.length,
                 "number of characters that gpt sees; for a model with a context of its own, such "
                 "as gpt2, the length of samples, at most that context")
      ->check(at_least(1))
      ->each([this](const std::string&) {
        gpt_option = "--context";
        has_length = true;
      })
      ->capture_default_str();
  app.add_option("--vocabulary",
                 gpt.vocabulary,
                 "number of gpt's tokens, of which a text uses as many as it has characters "
                 "(default: as many)")
      ->check(at_least(1))
      ->each([this](const std::string&) { gpt_option = gpt_size = "--vocabulary"; });
  app.add_option("--dropout", gpt.dropout, "probability of dropout in gpt")
      ->each([this](const std::string&) { gpt_option = "--dropout"; })
      ->check(within(0, 0.99))
      ->capture_default_str();
  app.add_flag("--recompute",
               recompute,
               concat("compute the activations of the model's blocks again in backward, which "
                      "saves memory; for ",
                      models_that(&Model::has_blocks)));
  app.add_option_function<std::string>(
         "--batch-norm",
         [this](const std::string& given) { batch_norm = kBatchNorms.at(given); },
         "statistics of batch norm: synchronised, those of the whole batch; merged, the rows' of "
         "each device, with running statistics of all; per-replica, as in PyTorch without "
         "SyncBatchNorm, where a result depends on the number of devices (default: synchronised)")
      ->check(CLI::IsMember(&kBatchNorms));
}

void ModelChoice::resolve() {
  check();
  gpt.context = gpt.length;
  if (!model_of(name).has_known_sizes) return;
  const GptSizes sizes = known_sizes(name);
  gpt.layers = sizes.layers;
  gpt.width = sizes.width;
  gpt.heads = sizes.heads;
  gpt.context = sizes.context;
  gpt.vocabulary = sizes.vocabulary;
  if (!has_length) gpt.length = gpt.context;
  if (gpt.length > gpt.context) {
    throw UsageError(concat("--context ",
                            gpt.length,
                            " is longer than the ",
                            gpt.context,
                            " positions of ",
                            name,
                            "; give at most ",
                            gpt.context));
  }
}

void ModelChoice::check() const {
  const Model& model = model_of(name);
  if (model.has_known_sizes && !gpt_size.empty()) {
    throw UsageError(concat(gpt_size,
                            " is an option of gpt, but the model is ",
                            name,
                            ", whose name says its sizes; leave out the option, or give --model "
                            "gpt"));
  }
  if (model.reads_text && gpt.width % gpt.heads != 0) {
    throw UsageError(concat("--heads ",
                            gpt.heads,
                            " does not divide --width ",
                            gpt.width,
                            "; give a width that is a multiple of the heads"));
  }
  if (!model.reads_text && !gpt_option.empty()) {
    throw UsageError(concat(gpt_option,
                            " is an option of gpt, but the model is ",
                            name,
                            "; leave out the option, or give --model gpt"));
  }
  if (batch_norm && !model.has_batch_norm) {
    throw UsageError(concat("--batch-norm needs a model that has it (",
                            models_that(&Model::has_batch_norm),
                            "), but the model is ",
                            name,
                            "; leave out --batch-norm"));
  }
  if (recompute && !model.has_blocks) {
    throw UsageError(concat("--recompute needs a model that has blocks (",
                            models_that(&Model::has_blocks),
                            "), but the model is ",
                            name,
                            "; leave out --recompute"));
  }
}

}  // namespace tandem::cli
