// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/collectives_choice.hpp"

#include <CLI/CLI.hpp>

namespace tandem::cli {

void CollectivesChoice::add_flags(CLI::App& app) {
  app.add_option("--collectives",
                 name,
                 "how long the cluster's collectives take: as a library's, which chooses as NCCL "
                 "does, or as the algorithm that ran here takes on the links, step by step")
      ->check(CLI::IsMember({"library", "as-run"}))
      ->capture_default_str();
}

}  // namespace tandem::cli
