// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/prepared_run.hpp"

#include <string>

#include <fmt/format.h>

#include "tandem/world/world.hpp"

#include "cli/console.hpp"
#include "cli/usage_error.hpp"
#include "core/even_share.hpp"

namespace tandem::cli {
namespace {

/// Says that the training set is smaller than the batch that was asked for, if it is.
void tell_batch(const BatchChoice& batch) {
  if (batch.full_batch() == batch.rows) return;
  console::tell("--batch {}: the training set has only {} rows, so a batch has no more\n",
                batch.rows,
                batch.full_batch());
}

/// Names the devices that get no rows of a full batch, if there are any, and the remedy.
void tell_idle_devices(const BatchChoice& batch, const parallel::DataParallelOptions& parallel) {
  const int processes = parallel.world == nullptr ? 1 : parallel.world->size();
  const std::int64_t rows = even_share(batch.full_batch(), 0, processes).size();
  const auto chunks = parallel::chunk_policy(parallel).plan(rows, parallel.devices);
  std::vector<std::string> idle;
  for (std::size_t d = 0; d < chunks.size(); ++d)
    if (chunks[d] == 0) idle.push_back(to_string(parallel.devices[d]));
  if (idle.empty()) return;
  const bool one = idle.size() == 1;
  const std::string leaves = one ? " leaves this device out" : " leaves these devices out";
  std::string reason = "give a larger --batch, or fewer devices";
  if (!batch.chunk_sizes.empty()) reason = "--chunk-sizes" + leaves;
  if (batch.gpu0_bsz) reason = "--gpu0-bsz" + leaves;
  console::tell("{} {} no rows of a batch of {}; {}\n",
                fmt::join(idle, ", "),
                one ? "gets" : "get",
                rows,
                reason);
}

}  // namespace

PreparedRun prepare_run(RunOptions options, std::vector<GivenFile> written) {
  options.resolve();
  written.insert(written.begin(), {"--text", options.data.text, FileUse::read});
  check_files(written);
  Machine machine = options.devices.machine();
  machine.ask(options.question(options.has_mode_flag ? std::vector{options.mode.name}
                                                     : std::vector<std::string>{}));
  if (machine.is_simulated() && options.world != nullptr)
    throw UsageError(
        "--cluster is simulated in one process; start the program without a launcher, and give "
        "--gpus");
  if (machine.is_simulated()) options.batch.check_simulated();
  const parallel::DataParallelOptions parallel = parallel_options(options, machine.devices());
  DataSets sets = options.load_data();
  options.batch.samples = sets.train->size();
  if (!options.quiet) {
    tell_batch(options.batch);
    tell_idle_devices(options.batch, parallel);
  }
  return {std::move(options), std::move(machine), std::move(sets)};
}

}  // namespace tandem::cli
