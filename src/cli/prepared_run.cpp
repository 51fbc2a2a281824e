// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/prepared_run.hpp"

#include <string>

#include "cli/console.hpp"

namespace tandem::cli {
namespace {

/// Says it if the training set is smaller than a batch.
void tell_batch(const BatchChoice& batch) {
  if (batch.full_batch() == batch.rows) return;
  console::tell("--batch {}: the training set has {} rows, and a batch has no more\n",
                batch.rows,
                batch.full_batch());
}

/// Says it if devices get no rows of a full batch.
void tell_idle_devices(const BatchChoice& batch, const parallel::DataParallelOptions& parallel) {
  const std::int64_t rows = batch.full_batch();
  const auto chunks = parallel::chunk_policy(parallel).plan(rows, parallel.devices);
  std::string idle;
  for (std::size_t d = 0; d < chunks.size(); ++d)
    if (chunks[d] == 0) idle += (idle.empty() ? "" : ", ") + to_string(parallel.devices[d]);
  if (idle.empty()) return;
  console::tell("{}: no rows of a batch of {}; {}\n",
                idle,
                rows,
                rows < std::ssize(chunks) ? "give a larger --batch, or fewer devices"
                                          : "--chunk-sizes and --gpu0-bsz divide it in this way");
}

}  // namespace

PreparedRun prepare_run(RunOptions options, std::vector<GivenFile> written) {
  options.resolve();
  written.insert(written.begin(), {"--text", options.data.text, FileUse::read});
  check_files(written);
  const std::vector<Device> devices = options.devices.working_devices();
  const parallel::DataParallelOptions parallel = parallel_options(options, devices);
  DataSets sets = options.load_data();
  options.batch.samples = sets.train->size();
  if (!options.quiet) {
    tell_batch(options.batch);
    tell_idle_devices(options.batch, parallel);
  }
  return {std::move(options), devices, std::move(sets)};
}

}  // namespace tandem::cli
