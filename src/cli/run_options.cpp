// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/run_options.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"
#include "tandem/data/sampler.hpp"
#include "tandem/world/world.hpp"

#include "cli/models.hpp"
#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {

using tandem::detail::concat;

void RunOptions::add_flags(CLI::App& app) {
  TaskOptions::add_flags(app);
  add_training_flags(app);
}

void RunOptions::add_training_flags(CLI::App& app) {
  data.add_flags(app);
  optimizer.add_flags(app);
  begin_subject(app, Subject::output);
  app.add_flag("--quiet", quiet, "print no summary and no progress");
}

void RunOptions::resolve() {
  if (model.name.empty() && data.is_text()) model.name = "gpt";
  const bool text = !model.name.empty() && model_of(model.name).reads_text;
  if (data.name.empty()) data.name = text ? "text" : "digits";
  if (text != data.is_text()) {
    throw UsageError(
        concat("--model ",
               model.name.empty() ? "cnn-small" : model.name,
               " does not read --data ",
               data.name,
               text ? "; it is a model of text: give --data text" : "; a text needs --model gpt"));
  }
  data.check();
  TaskOptions::resolve();
}

std::unique_ptr<optim::Optimizer> RunOptions::make_optimizer(nn::Module& module) const {
  return optimizer.make(module, model_of(model.name).adam_eps);
}

RunOptions RunOptions::of_process(Launched& launched) const {
  RunOptions own = *this;
  own.world = launched.world();
  own.quiet |= !launched.is_main();
  return own;
}

datasets::LoaderOptions RunOptions::loader(const datasets::Dataset& set,
                                           datasets::Split split,
                                           Device device) const {
  const bool training = split == datasets::Split::train;
  const bool has_part = training && world != nullptr && !mode.is_single();
  return {.batch_size = batch.rows,
          .sampler = training ? datasets::random_sampler(set.size(), numbers.first_seed())
                              : datasets::sequential_sampler(set.size()),
          .part = has_part ? world->rank() : 0,
          .parts = has_part ? world->size() : 1,
          .device = device};
}

RunOptions on_one_device(RunOptions options) {
  options.batch.gpu0_bsz.reset();
  options.batch.chunk_sizes.clear();
  options.batch.chunks = "even";
  options.mode.name = kSingleDevice;
  return options;
}

std::string model_identity(const RunOptions& options, const DataForm& form) {
  std::string sizes;
  for (const auto& [name, size] : model_sizes(options.model, form))
    sizes += concat(' ', name, ' ', size);
  if (!form.is_text())
    sizes = concat(' ', form.sample[0], 'x', form.sample[1], 'x', form.sample[2]);
  return concat(
      options.model.name, sizes, ' ', options.numbers.dtype, ", ", options.optimizer.name);
}

}  // namespace tandem::cli
