// SPDX-FileCopyrightText: 2026 The tandem authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/simulation/recorded_step.hpp"

#include <array>
#include <utility>

#include "tandem/core/check.hpp"
#include "tandem/runtime/logical_device.hpp"
#include "tandem/runtime/runtime.hpp"
#include "tandem/sim/configure.hpp"

#include "cli/random_steps.hpp"
#include "cli/usage_error.hpp"

namespace tandem::cli {
namespace {

/// More GPUs than that are not taken one by one where they do the same.
constexpr int kMostDevices = 16;
constexpr int kRecorded = 2;  // the last, and the one before

/// How many devices stand for GPUs that all do the same, with the same number of rows.
///
/// @param options  get the rows of these devices.
int share_rows(TaskOptions& options, int gpus) {
  const bool as_run = options.devices.collectives.is_as_run();
  if (as_run && gpus > sim::kMaxGpus)
    throw UsageError(
        tandem::detail::concat("with --collectives as-run a step is simulated GPU by "
                               "GPU, for at most ",
                               sim::kMaxGpus,
                               " of them, and --gpus is ",
                               gpus,
                               "; give fewer, or --collectives library"));
  const bool are_alike = options.mode.rules().are_devices_alike();
  if (!are_alike && gpus > sim::kMaxGpus && !options.mode.is_single())
    throw UsageError(
        tandem::detail::concat("mode ",
                               options.mode.name,
                               " is simulated GPU by GPU, for at most ",
                               sim::kMaxGpus,
                               " of them, and --gpus is ",
                               gpus,
                               "; give fewer, or a mode in which all do the same: ",
                               mode_options_that(&parallel::ModeRules::are_devices_alike)));
  if (!are_alike || gpus <= kMostDevices || as_run) return gpus;
  if (options.batch.rows % gpus != 0 || options.batch.policy() ||
      !options.batch.chunk_sizes.empty() || options.batch.gpu0_bsz)
    throw UsageError(tandem::detail::concat("more than ",
                                            kMostDevices,
                                            " GPUs are simulated with the same rows on each, and "
                                            "--batch is ",
                                            options.batch.rows,
                                            " on ",
                                            gpus,
                                            " GPUs; give a multiple, and leave out --chunks, "
                                            "--chunk-sizes and --gpu0-bsz"));
  constexpr int kDevices = 2;
  options.batch.rows = options.batch.rows / gpus * kDevices;
  return kDevices;
}

}  // namespace

RecordedStep record_step(StepSetup setup, const sim::Cluster& cluster, int gpus) {
  TaskOptions& options = setup.task;
  options.resolve();
  options.devices.collectives.check(cluster);
  options.batch.check_simulated();
  const sim::ClusterDevices devices = sim::configure_cluster(cluster, share_rows(options, gpus));
  parallel::DataParallelOptions parallel = parallel_options(options, devices.gpus);
  if (setup.bucket_nbytes)
    parallel.exchange.bucket_nbytes = parallel.exchange.first_bucket_nbytes = *setup.bucket_nbytes;
  RandomSteps steps(options, setup.optimizer, parallel, devices.host);
  for (const Device device : steps.devices())
    logical_device(device).reset_peak();
  steps.warm_up();
  profile::StepRecorder recorder;
  std::array<profile::StepRecord, kRecorded> records;
  for (profile::StepRecord& record : records) {
    const Subscription subscription(recorder);
    steps.step();
    record = recorder.take();
  }
  RecordedStep recorded{.step = {.before = std::move(records.front()),
                                 .record = std::move(records.back()),
                                 .devices = steps.devices(),
                                 .gpus = options.mode.is_single() ? 1 : gpus},
                        .peaks = {}};
  for (const Device device : steps.devices())
    recorded.peaks.push_back(logical_device(device).memory_stats().peak);
  return recorded;
}

}  // namespace tandem::cli
