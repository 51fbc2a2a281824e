// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/choices/backend_choice.hpp"

#include <CLI/CLI.hpp>

#include "tandem/config.hpp"
#include "tandem/core/check.hpp"

#include "cli/subject.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {

void BackendChoice::add_flags(CLI::App& app) {
  begin_subject(app, Subject::collectives);
  app.add_option(
         "--backend",
         name,
         "what moves data between devices: tandem's own copies and kernels (local), or NCCL "
         "between GPUs (nccl); and between processes: gloo (also for local), or MPI (mpi)")
      ->check(CLI::IsMember({"local", "nccl", "gloo", "mpi"}))
      ->capture_default_str();
}

void BackendChoice::check_processes(int processes) const {
  if (processes > 1 || (name != "gloo" && name != "mpi")) return;
  throw UsageError(tandem::detail::concat(
      "--backend ",
      name,
      " moves data between processes, and this one is alone; start it by a launcher, as tandem "
      "launch --nproc 2 tandem train, or take local or nccl"));
}

comm::Backend BackendChoice::backend() const {
  return comm::parse_backend(name).value();  // the flag takes these names alone
}

void BackendChoice::check_serves(const std::vector<Device>& devices) const {
  if (backend() != comm::Backend::nccl) return;
  for (const Device d : devices) {
    if (d.type != DeviceType::cuda)
      throw UsageError(tandem::detail::concat("--backend nccl: ", d, " is not a GPU; use local"));
  }
  if (!has_nccl)
    throw UsageError(
        "--backend nccl: this build has no NCCL; use local, or configure with -D TANDEM_NCCL=ON");
}

}  // namespace tandem::cli
