// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/checkpoint_choice.hpp"

#include <filesystem>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "tandem/core/error.hpp"

#include "cli/console.hpp"
#include "cli/subject.hpp"
#include "cli/validators.hpp"

namespace tandem::cli {

void CheckpointChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::checkpoints);
  auto* checkpoint = app.add_option(
      "--checkpoint", path, "file to save the run to after each epoch and at the end");
  app.add_option("--checkpoint-shards",
                 shards,
                 "make the checkpoint a folder with this many files for the model, and as many for "
                 "the optimizer, in the form of Hugging Face's sharded safetensors")
      ->check(within(1, 99'999))
      ->needs(checkpoint);
  app.add_option("--save-every", save_every, "also save each time this many steps have run")
      ->check(at_least(1))
      ->needs(checkpoint);
  app.add_flag("--resume", resume, "continue the checkpoint's run, with its seed and learning rate")
      ->needs(checkpoint);
}

GivenFile CheckpointChoice::given_file() const {
  std::error_code ignored;
  if (!shards && std::filesystem::is_directory(path, ignored)) {
    throw FileError(
        path,
        -1,
        "is a folder; give --checkpoint-shards N too, to save the run there in N files, or "
        "the path of a file");
  }
  return {"--checkpoint", path, shards ? FileUse::kept_folder : FileUse::kept};
}

std::string CheckpointChoice::options() const {
  const std::string one = fmt::format("--checkpoint {}", console::one_line(path));
  return shards ? fmt::format("{} --checkpoint-shards {}", one, *shards) : one;
}

}  // namespace tandem::cli
