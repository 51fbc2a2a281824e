// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/collectives_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/core/check.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {

void CollectivesChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::machine);
  app.add_option("--collectives",
                 name,
                 "how long the cluster's collectives take: as a library's, which chooses as NCCL "
                 "does, or as the algorithm that ran here takes on the links, step by step")
      ->check(CLI::IsMember({"library", "as-run"}))
      ->capture_default_str();
}

void CollectivesChoice::check(const sim::Cluster& cluster) const {
  if (is_as_run() && cluster.gpus.kind == sim::GpuKind::host)
    throw UsageError(tandem::detail::concat(
        "--collectives as-run is for links between GPUs, and the gpus of ",
        cluster.name,
        " are of kind host, whose threads do collectives in their memory; leave it out"));
}

}  // namespace tandem::cli
