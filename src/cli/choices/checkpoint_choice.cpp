// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/checkpoint_choice.hpp"

#include <CLI/CLI.hpp>

#include "cli/validators.hpp"

namespace tandem::cli {

void CheckpointChoice::add_flags(CLI::App& app) {
  auto* checkpoint = app.add_option(
      "--checkpoint", file, "file to save the run to after each epoch and at the end");
  app.add_option("--save-every", save_every, "also save each time this many steps have run")
      ->check(at_least(1))
      ->needs(checkpoint);
  app.add_flag("--resume", resume, "continue the checkpoint's run, with its seed and learning rate")
      ->needs(checkpoint);
}

}  // namespace tandem::cli
